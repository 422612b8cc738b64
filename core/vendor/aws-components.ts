import { accepted, refused, type Parsed } from '../parsed.ts';
import { nearMatches } from './near-matches.ts';

/** The region that stands for services that have none. */
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
 * An AWS component in its one spelling, `service:region` with `global` for services without a region, or what is wrong
 * with it and what may have been meant. AWS publishes only what is in trouble, so that services and regions are known
 * from this list.
 */
export function parseAwsComponent(text: string): Parsed<string> {
  const component = text.trim().toLowerCase();
  const [service = '', region = '', ...rest] = component.split(':');
  if (service === '' || region === '' || rest.length > 0)
    return refused(`${JSON.stringify(text)} is not a service:region, such as ${EXAMPLE}`);
  if (region !== GLOBAL && !REGIONS.includes(region))
    return refused(unknown(`region ${JSON.stringify(region)}`, nearMatches(region, [...REGIONS, GLOBAL])));
  const services = region === GLOBAL ? GLOBAL_SERVICES : REGIONAL_SERVICES;
  if (services.includes(service)) return accepted(component);
  const elsewhere =
    region === GLOBAL ? [] : GLOBAL_SERVICES.filter((known) => known === service).map((known) => `${known}:${GLOBAL}`);
  const near = [...elsewhere, ...nearMatches(service, services).map((known) => `${known}:${region}`)];
  return refused(
    unknown(
      `${region === GLOBAL ? 'global ' : ''}service ` +
        `${JSON.stringify(service)}${region === GLOBAL ? '' : ' with regions'}`,
      near.slice(0, 5),
    ),
  );
}

function unknown(what: string, near: readonly string[]): string {
  const hint =
    near.length === 0 ? `a component is a service:region, such as ${EXAMPLE}` : `did you mean ${near.join(', ')}?`;
  return `AWS has no ${what}; ${hint}`;
}

function words(text: string): readonly string[] {
  return text.trim().split(/\s+/);
}
