/**
 * Loaded before ava. Its TAP reporter ends the whole run at an error that YAML cannot express, such as that of a failed
 * `fetch`, whose cause has undefined properties: those are left out here.
 */
import { createRequire, findPackageJSON } from 'node:module';

type Yaml = { safeDump(value: unknown, options?: { skipInvalid: boolean }): string };

const supertap = findPackageJSON('supertap', import.meta.resolve('ava'));
if (supertap === undefined) throw new Error('ava has no supertap any more: this file can go');
const yaml: Yaml = createRequire(supertap)('js-yaml');
const { safeDump } = yaml;
yaml.safeDump = (value) => safeDump(value, { skipInvalid: true });
