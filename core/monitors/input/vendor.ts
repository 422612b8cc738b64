import { VENDORS } from '../../checks/vendor/catalog.ts';
import type { VendorReading } from '../../checks/vendor/document.ts';
import { componentResolver, nearMatches } from '../../checks/vendor/observation.ts';
import { findVendorPage, type VendorPage } from '../../checks/vendor/page.ts';
import { accepted, refused, type Parsed } from '../../foreign-text.ts';
import type { Problem } from '../../input.ts';
import type { CheckSpec } from '../monitor.ts';
import { parseTarget } from '../targets.ts';

/** The region of services without one. */
const GLOBAL = 'global';

const REGIONS = words(`
  af-south-1 ap-east-1 ap-east-2 ap-northeast-1 ap-northeast-2 ap-northeast-3 ap-south-1 ap-south-2 ap-southeast-1
  ap-southeast-2 ap-southeast-3 ap-southeast-4 ap-southeast-5 ap-southeast-6 ap-southeast-7 ca-central-1 ca-west-1
  eu-central-1 eu-central-2 eu-north-1 eu-south-1 eu-south-2 eu-west-1 eu-west-2 eu-west-3 il-central-1 me-central-1
  me-south-1 mx-central-1 sa-east-1 us-east-1 us-east-2 us-gov-east-1 us-gov-west-1 us-west-1 us-west-2`);

const REGIONAL_SERVICES = words(`
  acm-pca airflow aml amplify amplifyadmin apigateway appconfig appfabric appflow applicationdiscoveryservice
  applicationinsights appmesh apprunner appstream2 appsync aps athena auditmanager autoscaling aws-glue awsgreengrass
  awsiot awsiotdevicemanagement awswaf b2bi backup batch bedrock bedrock-agentcore braket cassandra
  certificatemanager chime cleanrooms clientvpn cloud9 clouddirectory cloudformation cloudhsm cloudsearch cloudshell
  cloudtrail cloudwan cloudwatch cloudwatchsynthetics codeartifact codebuild codecatalyst codecommit codedeploy
  codeguru-profiler codeguru-reviewer codepipeline codewhisperer cognito comprehend comprehendmedical
  computeoptimizer config connect controltower dataexchange datapipeline datasync datazone deadline detective
  devicefarm devops-guru directconnect directoryservice dlm dms docdb drs dsql dynamodb ec2 ec2systemsmanager ecr ecs
  eks elasticache elasticbeanstalk elasticfilesystem elasticsearch elb elemental emr emrserverless endusermessaging
  entityresolution events evidently evs fargate finspace firehose fis fms frauddetector freertos fsx gamelift
  gameliftstreams glacier glue grafana groundstation guardduty health healthimaging healthlake iam iamidentitycenter
  iamrolesanywhere imagebuilder inspector internetconnectivity internetmonitor iotanalytics iotdevicedefender
  iotevents iotfleetwise iotsitewise iottwinmaker ipam ivs kafka kendra kinesis kinesisanalytics kinesisvideo kms
  lakeformation lambda lex licensemanager lightsail locationservice m2 macie managedblockchain management-console
  marketplace memorydb mgn migrationhub mq multipleservices natgateway neptune-db networkfirewall omics opsworks
  organizations outposts panorama paymentcryptography pcs personalize pinpoint polly privatelink proton qapps
  qbusiness quicksight ram rds redshift rekognition resiliencehub resourceexplorer resourcegroups route53privatedns
  route53resolver rum s3 sagemaker scheduler secretsmanager securityhub securitylake serverlessrepo servicecatalog
  servicediscovery servicequotas ses signin simpledb sns sqs ssmsap state storagegateway sts supportcenter swf
  textract timestream tnb transcribe transfer transitgateway translate trustedadvisor verifiedaccess
  verifiedpermissions vpc vpclattice vpnvpc wellarchitected workmail workspaces workspacesweb xray`);

const GLOBAL_SERVICES = words(`
  account billingconsole chatbot chime cloudfront cloudwan globalaccelerator health iam import-export
  management-console marketplace notifications organizations route53 route53apprecoverycontroller
  route53domainregistration supportapi supportcenter trustedadvisor`);

const EXAMPLE = 'ec2:us-east-1';

/**
 * Parses an AWS component into its canonical form, `service:region`, with `global` for services without a region. A
 * refusal explains the fault and suggests near matches. AWS publishes only services in trouble, hence these lists of
 * services and regions.
 */
function parseAwsComponent(text: string): Parsed<string> {
  const component = text.trim().toLowerCase();
  const [service = '', region = '', ...rest] = component.split(':');
  if (service === '' || region === '' || rest.length > 0)
    return refused(`${JSON.stringify(text)} is not a service:region, such as ${EXAMPLE}`);
  if (region !== GLOBAL && !REGIONS.includes(region))
    return refused(unknownPart(`region ${JSON.stringify(region)}`, nearMatches(region, [...REGIONS, GLOBAL])));
  const services = region === GLOBAL ? GLOBAL_SERVICES : REGIONAL_SERVICES;
  if (services.includes(service)) return accepted(component);
  const near = nearMatches(service, services).map((known) => `${known}:${region}`);
  const quoted = JSON.stringify(service);
  if (region === GLOBAL) return refused(unknownPart(`global service ${quoted}`, near));
  const elsewhere = GLOBAL_SERVICES.includes(service) ? [`${service}:${GLOBAL}`] : [];
  return refused(unknownPart(`service ${quoted} with regions`, [...elsewhere, ...near].slice(0, 5)));
}

function unknownPart(what: string, near: readonly string[]): string {
  const hint =
    near.length === 0 ? `a component is a service:region, such as ${EXAMPLE}` : `did you mean ${near.join(', ')}?`;
  return `AWS has no ${what}; ${hint}`;
}

function words(text: string): readonly string[] {
  return text.trim().split(/\s+/);
}

/** Vendor fields of a write, applied to the stored ones; undefined = absent. */
export type VendorInput = { target?: string | undefined; components?: readonly string[] | undefined };

/** The contents of a page, and which page it is: a concurrent write may have named a different one. */
export type PageReading = { page: VendorPage; reading: VendorReading };

/** The vendor as stored before the write; a creation has none. */
export type StoredVendor = { target: string; vendor: CheckSpec['vendor'] };

/**
 * Finds the page that must be read before a write can be validated. Null if none is needed: if neither target nor
 * components change, if a vendor of the catalog is watched as a whole, and if the page lists no components for
 * comparison.
 */
export function findPageToRead(input: VendorInput, stored: StoredVendor): VendorPage | null {
  const target = input.target ?? stored.target;
  const page = findVendorPage(target);
  const isNew = target !== stored.target;
  if (page === null || (!isNew && keepsComponents(input, stored))) return null;
  if (LISTS_NOTHING.has(page.adapter)) return null;
  const hasComponents = (input.components ?? stored.vendor?.components ?? []).length > 0;
  return hasComponents || (isNew && !page.isInCatalog) ? page : null;
}

/**
 * Completes a vendor monitor from its target (D-28). Components are compared with its page if `read` is of that page
 * (null = none was read); a page outside the catalog must have proved to be a status page. Adds faults to `problems`.
 */
export function completeVendor(
  input: VendorInput,
  { stored, read }: { stored: StoredVendor; read: PageReading | null },
  problems: Problem[],
): NonNullable<CheckSpec['vendor']> {
  const target = input.target ?? stored.target;
  const components = input.components ?? stored.vendor?.components ?? [];
  // Stored components were validated when written: another change of the monitor must not fail because of them.
  if (stored.vendor !== undefined && target === stored.target && keepsComponents(input, stored)) return stored.vendor;
  if (target === '' || !parseTarget('vendor', target).ok) return { components: [...components] };
  const page = findVendorPage(target);
  if (page === null) {
    problems.push({ field: 'target', message: unknownVendor(target) });
    return { components: [...components] };
  }
  const reading = read?.page.pageUrl === page.pageUrl ? read.reading : null;
  if (!page.isInCatalog && target !== stored.target) checkPage(reading, problems);
  const { vendorId, pageUrl, probeUrl } = page;
  return { vendorId, pageUrl, probeUrl, components: completeComponents(components, { page, reading }, problems) };
}

/** Reports whether a write leaves the components as they are: it has none, or the stored ones. */
function keepsComponents({ components }: VendorInput, { vendor }: StoredVendor): boolean {
  return components === undefined || JSON.stringify(components) === JSON.stringify(vendor?.components);
}

/** AWS reports only trouble, Azure no components at all. */
const LISTS_NOTHING: ReadonlySet<VendorPage['adapter']> = new Set(['aws', 'azure'] as const);

/** Explains why `findVendorPage` found nothing for a target, with the ids that may have been meant. */
export function unknownVendor(target: string): string {
  const near = nearMatches(
    target,
    VENDORS.map(({ id }) => id),
  );
  const remedy = near.length === 0 ? '' : `; did you mean ${near.join(', ')}?`;
  return (
    'target must be the id of a vendor in the catalog, such as github, or the URL of a status page, got ' +
    `${JSON.stringify(target)}${remedy}`
  );
}

function checkPage(reading: VendorReading | null, problems: Problem[]): void {
  if (reading?.outcome === 'read') return;
  if (reading?.failure.kind === 'not_a_status_page') {
    problems.push({
      field: 'target',
      message:
        'target must be the URL of an Atlassian Statuspage status page, or the id of a vendor in the catalog. ' +
        reading.failure.reason,
    });
    return;
  }
  const cause = reading === null ? 'The status page was not read' : reading.failure.reason;
  problems.push({
    field: 'target',
    message: `target must be a status page that can be read. ${cause}: try again later`,
  });
}

type Given = { page: VendorPage; reading: VendorReading | null };

/**
 * Maximum number of unknown components that are compared, because each is compared with all components of the page to
 * suggest a similar one.
 */
const MAX_UNKNOWN = 5;

function completeComponents(components: readonly string[], { page, reading }: Given, problems: Problem[]): string[] {
  const complain = (message: string) => void problems.push({ field: 'components', message });
  if (page.adapter === 'azure' && components.length > 0)
    complain('components must be omitted for Azure: its status feed lists none');
  if (page.adapter === 'aws' && components.length === 0)
    complain('components must be at least one service:region, such as ec2:us-east-1, for AWS, got none');
  const resolved = new Set<string>();
  const parse = componentParser({ page, reading });
  let unknown = 0;
  for (const component of components) {
    const parsed = parse(component);
    if (parsed.ok) {
      resolved.add(parsed.value);
      continue;
    }
    complain(`components must be parts of ${page.name}: ${parsed.message}`);
    unknown += 1;
    if (unknown === MAX_UNKNOWN) break;
  }
  return [...resolved];
}

/**
 * Makes the parser of a page's components. One that cannot be compared with the page now is accepted as it is: the
 * checks will report if the page does not list it.
 */
function componentParser({ page, reading }: Given): (component: string) => Parsed<string> {
  if (page.adapter === 'aws') return parseAwsComponent;
  return reading?.outcome === 'read' ? componentResolver(reading.snapshot) : accepted;
}
