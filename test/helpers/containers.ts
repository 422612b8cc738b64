import { cp, mkdir, mkdtemp, readdir, readFile, rm, stat, statfs, symlink, writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { isInstalled, runCommand } from './command.ts';
import type { Harness } from './harness.ts';
import { ROOT } from './program.ts';

const TOOLS = ['mmdebstrap', 'buildah', 'podman', 'unshare', 'npm'];

/** Magic number of overlayfs, on which no other overlay can be mounted. */
const OVERLAY_MAGIC = 0x794c_7630;

/** Limits of containers, below those of any machine; a sandbox must not raise limits. */
const LIMITS = ['--cgroups', 'disabled', '--ulimit', 'nofile=1024:1024', '--ulimit', 'nproc=1024:1024'];

/** Base images built from Debian packages in place of those in the Containerfile, so that no registry is needed. */
export const BASES = { runtime: 'localhost/runtime', build: 'localhost/build' };

/** Returns the missing prerequisite for containers on this machine; null if there is none. */
export function findMissingTool(): string | null {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return 'root on Linux';
  return TOOLS.find((tool) => !isInstalled(tool)) ?? null;
}

/** Builds images and runs containers in separate storage. Commands reject with their output. */
export class Containers {
  readonly folder: string;
  readonly #driver: string;
  readonly #running = new Set<string>();

  private constructor(folder: string, driver: string) {
    this.folder = folder;
    this.#driver = driver;
  }

  static async open(t: Harness): Promise<Containers> {
    // Podman limits paths to 50 characters, which a run's temporary folder may exceed.
    const folder = await mkdtemp('/tmp/spotcheck-images-');
    const { type } = await statfs(folder);
    const containers = new Containers(folder, type === OVERLAY_MAGIC ? 'vfs' : 'overlay');
    t.teardown(async () => {
      await containers.#stopAll();
      await rm(folder, { recursive: true, force: true, maxRetries: 10 });
    });
    return containers;
  }

  /** Creates the base images for runtime and build, from packages and this checkout's Node. */
  async makeBases(): Promise<void> {
    const [runtime, build, root] = ['runtime.tar', 'build.tar', 'build'].map((name) => join(this.folder, name)) as [
      string,
      string,
      string,
    ];
    const { VERSION_CODENAME: release = '' } = parseRelease(await readFile('/etc/os-release', 'utf8'));
    await must([
      'mmdebstrap',
      '--variant=extract',
      '--include=base-files,ca-certificates,libc6,libgcc-s1,libstdc++6,netbase',
      release,
      runtime,
    ]);
    await must(['mmdebstrap', '--variant=essential', '--include=libstdc++6', release, build]);
    await mkdir(root);
    await must(['tar', '--extract', '--file', build, '--directory', root]);
    await addNode(join(root, 'usr', 'local'));
    await must(['tar', '--create', '--file', build, '--directory', root, '.']);
    await rm(root, { recursive: true });
    await this.podman('import', runtime, BASES.runtime);
    await this.podman('import', build, BASES.build);
  }

  /** Builds a target of the Containerfile, the last one by default. */
  async build(tag: string, target: string | null): Promise<void> {
    await must([
      ...this.#tool('buildah'),
      'bud',
      '--layers',
      '--pull-never',
      '--isolation=chroot',
      '--format=docker',
      `--build-arg=NODE_IMAGE=${BASES.build}`,
      `--build-arg=BASE_IMAGE=${BASES.runtime}`,
      ...(target === null ? [] : [`--target=${target}`]),
      `--tag=${tag}`,
      '--file=Containerfile',
      ROOT,
    ]);
  }

  /** Returns the compressed size of an image in bytes, as in a registry. */
  async compressedSize(tag: string): Promise<number> {
    const folder = join(this.folder, 'pushed');
    await must([...this.#tool('buildah'), 'push', '--format=v2s2', tag, `dir:${folder}`]);
    const sizes = (await readdir(folder)).map(async (name) => (await stat(join(folder, name))).size);
    const total = (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
    await rm(folder, { recursive: true });
    return total;
  }

  /** Runs podman to its end, and returns its standard output. */
  async podman(...args: readonly string[]): Promise<string> {
    return await must([...this.#tool('podman'), ...args]);
  }

  /** Starts a container; `output` returns its output so far. */
  async start(name: string, args: readonly string[]): Promise<{ output: () => Promise<string> }> {
    this.#running.add(name);
    await this.podman('run', '--detach', '--name', name, ...LIMITS, ...args);
    return {
      output: async () => {
        const { stdout, stderr } = await runCommand([...this.#tool('podman'), 'logs', name], {});
        return stdout + stderr;
      },
    };
  }

  /** Runs a container to its end, and returns its standard output; rejects if it fails. */
  async run(...args: readonly string[]): Promise<string> {
    return await this.podman('run', '--rm', ...LIMITS, ...args);
  }

  /** Stops a container as a supervisor does, removes it, and returns its exit status. */
  async stop(name: string): Promise<number> {
    await this.podman('stop', '--time=60', name);
    const status = Number(await this.podman('wait', name));
    await this.podman('rm', '--force', name);
    this.#running.delete(name);
    return status;
  }

  async #stopAll(): Promise<void> {
    for (const name of this.#running) await this.podman('rm', '--force', '--time=0', name).catch(() => undefined);
  }

  /**
   * Wraps a tool in a separate mount namespace, which ends with it, and without the hybrid cgroup hierarchy, which crun
   * refuses.
   */
  #tool(tool: 'buildah' | 'podman'): string[] {
    const storage = [
      `--root=${this.folder}/images`,
      `--runroot=${this.folder}/run`,
      `--storage-driver=${this.#driver}`,
    ];
    return [
      'unshare',
      '--mount',
      'sh',
      '-c',
      'umount --lazy /sys/fs/cgroup/unified 2>/dev/null; exec "$@"',
      'sh',
      tool,
      ...storage,
      ...(tool === 'podman' ? ['--cgroup-manager=cgroupfs', '--events-backend=file'] : []),
    ];
  }
}

/** Installs `node`, and `npm` with this machine's registry settings, as Node's images have them. */
async function addNode(local: string): Promise<void> {
  const modules = (await ofNpm('root', '--global')).trim();
  for (const name of ['bin', 'etc', 'lib/node_modules']) await mkdir(join(local, name), { recursive: true });
  await cp(process.execPath, join(local, 'bin', 'node'));
  await cp(join(modules, 'npm'), join(local, 'lib', 'node_modules', 'npm'), { recursive: true });
  await symlink('../lib/node_modules/npm/bin/npm-cli.js', join(local, 'bin', 'npm'));
  const [registry, cafile] = [await ofNpm('config', 'get', 'registry'), await ofNpm('config', 'get', 'cafile')];
  const lines = [`registry=${registry}`];
  if (cafile !== 'null' && cafile !== 'undefined') {
    await cp(cafile, join(local, 'etc', 'ca.crt'), { dereference: true });
    lines.push('cafile=/usr/local/etc/ca.crt');
  }
  await writeFile(join(local, 'etc', 'npmrc'), `${lines.join('\n')}\n`);
}

/** Returns the output of the machine's npm: that of the project's Node has no global packages or settings. */
async function ofNpm(...args: readonly string[]): Promise<string> {
  const PATH = (process.env['PATH'] ?? '')
    .split(delimiter)
    .filter((folder) => !folder.includes('node_modules'))
    .join(delimiter);
  return (await must(['npm', ...args], { PATH })).trim();
}

async function must(command: readonly string[], env: Record<string, string> = {}): Promise<string> {
  const { status, stdout, stderr } = await runCommand(command, env);
  if (status !== 0) throw new Error(`${command.join(' ')}: ${status}\n${stdout.slice(-2000)}\n${stderr.slice(-4000)}`);
  return stdout;
}

function parseRelease(text: string): Record<string, string> {
  return Object.fromEntries(
    text.split('\n').flatMap((line) => {
      const [, name, value] = /^(\w+)="?([^"]*)"?$/.exec(line) ?? [];
      return name === undefined || value === undefined ? [] : [[name, value]];
    }),
  );
}
