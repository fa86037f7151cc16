/**
 * Compares the image, the compose file and the Kubernetes manifests with the code: settings, commands, ports, paths, topics and
 * groups. Runs no container. Renders the manifests if kubectl is installed.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { groupName, topicName } from '../../pipeline/kafka/topics.ts';
import { type Config, environmentVariables, parseConfig } from '../../schemas/config.ts';
import { type StageName, stageNames } from '../../schemas/stages.ts';
import { stageInputs, type TopicKey } from '../../schemas/topics.ts';
import { readConfigFile, readEnvFile } from '../support/env-file.ts';

const url = (path: string) => new URL(`../../deploy/${path}`, import.meta.url);
const read = (path: string) => readFileSync(url(path), 'utf8');
const defaults = parseConfig(readConfigFile('minimal.env'));
const ports = { api: defaults.apiPort, metrics: defaults.apiMetricsPort, pipeline: defaults.pipelinePort };

interface Container {
  image: string;
  args: string[];
  ports: { name: string; containerPort: number }[];
  env: { name: string; valueFrom: { secretKeyRef: { name: string; key: string } } }[];
  securityContext: Record<string, unknown>;
  resources: { limits: Record<string, string>; requests: Record<string, string> };
  [probe: string]: unknown;
}
interface Manifest {
  kind: string;
  metadata: { name: string };
  // biome-ignore lint/suspicious/noExplicitAny: each kind has its own
  spec: any;
}
const manifests = (path: string): Manifest[] =>
  parseAllDocuments(read(path)).map((document) => {
    expect(document.errors).toEqual([]);
    return document.toJS() as Manifest;
  });
const deploymentIn = (all: Manifest[]) => all.find(({ kind }) => kind === 'Deployment')!;
const containerOf = (deployment: Manifest): Container => deployment.spec.template.spec.containers[0];

const settingsIn = (text: string) => new Set(text.match(/\bHEADRACE_[A-Z0-9_]+\b/g));

test.each([
  'Dockerfile',
  'compose.yaml',
  'k8s/api.yaml',
  'k8s/stage/stage.yaml',
  'k8s/settings.env',
  'k8s/keda/scaled-objects.yaml',
  'k8s/drop/session.yaml',
])('every setting that %s names exists', (path) => {
  const known = new Set<string>(environmentVariables);
  expect([...settingsIn(read(path))].filter((name) => !known.has(name))).toEqual([]);
});

describe('the image', () => {
  const dockerfile = read('Dockerfile');

  test('copies nothing that is not there, and runs what the build makes', () => {
    expect(dockerfile).toContain('RUN npm run build -- /dist');
    expect(dockerfile).toContain('COPY --from=build /dist ./dist');
    expect(dockerfile).toContain('ENTRYPOINT ["node", "dist/headrace.cjs"]');
    const { scripts } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
    expect(scripts.build).toBe('node deploy/build.mjs');
    const letIn = [...read('../.dockerignore').matchAll(/^!(.+)$/gm)].map(([, path]) => path!);
    for (const path of letIn) expect(existsSync(new URL(`../../${path}`, import.meta.url)), path).toBe(true);
    // Everything that the build reads (deploy/build.mjs).
    expect(letIn).toEqual(expect.arrayContaining(['api', 'pipeline', 'schemas', 'deploy', 'package.json']));
  });

  test('is not root, listens on the ports of the service, and is of a supported Node', () => {
    expect(dockerfile).toMatch(/^USER 1000:1000$/m);
    expect(dockerfile).toContain(`EXPOSE ${ports.api} ${ports.metrics} ${ports.pipeline}`);
    const bases = [...dockerfile.matchAll(/^FROM (\S+)/gm)].map(([, image]) => image);
    expect(new Set(bases)).toEqual(new Set(['node:24-slim', 'packages']));
  });
});

describe('the compose file', () => {
  const compose = parse(read('compose.yaml'), { merge: true });
  const { services, volumes } = compose;

  test('has valid settings', () => {
    const own = { HEADRACE_SECRET: Buffer.alloc(32, 'a').toString('base64') };
    for (const name of ['api', 'pipeline']) {
      const config = parseConfig({ ...services[name].environment, ...own });
      const [host, port] = config.kafkaBrokers[0]!.split(':');
      expect(services[host!].environment.KAFKA_LISTENERS).toContain(`PLAINTEXT://:${port}`);
      expect(services[new URL(config.s3Endpoint).hostname]).toBeDefined();
      expect(services[new URL(config.mongoUrl).hostname]).toBeDefined();
    }
  });

  test('publishes the ports on this machine only, and waits for services that exist', () => {
    expect(services.api.ports).toEqual([ports.api, ports.metrics].map((port) => `127.0.0.1:${port}:${port}`));
    expect(services.pipeline.ports).toEqual([`127.0.0.1:${ports.pipeline}:${ports.pipeline}`]);
    for (const service of Object.values<{ depends_on?: object; volumes?: string[] }>(services)) {
      const needed = Array.isArray(service.depends_on)
        ? service.depends_on
        : Object.keys(service.depends_on ?? {});
      for (const name of needed) expect(services[name], name).toBeDefined();
      for (const volume of service.volumes ?? [])
        if (!volume.startsWith('.')) expect(Object.keys(volumes)).toContain(volume.split(':')[0]);
    }
  });

  test('Prometheus scrapes where the processes export', () => {
    const { scrape_configs, rule_files } = parse(read('monitoring/prometheus.yml'));
    const targets = scrape_configs.flatMap((job: { static_configs: { targets: string[] }[] }) =>
      job.static_configs.flatMap((config) => config.targets),
    );
    expect(targets).toEqual([`api:${ports.metrics}`, `pipeline:${ports.pipeline}`]);
    for (const name of rule_files) expect(existsSync(url(`monitoring/${name}`)), name).toBe(true);
  });
});

test('the session with DROP runs when the platform is open, alone, with its own secrets', () => {
  const [session] = manifests('k8s/drop/session.yaml') as [Manifest];
  const { schedule, timeZone, concurrencyPolicy, jobTemplate } = session.spec;
  expect([timeZone, concurrencyPolicy]).toEqual(['America/Los_Angeles', 'Forbid']);
  const [, hour] = schedule.split(' ').map(Number);
  expect(hour).toBeGreaterThanOrEqual(3);
  const { args, env } = jobTemplate.spec.template.spec.containers[0] as Container;
  expect(args.slice(0, 3)).toEqual(['admin', 'drop', 'sync']);
  const needed = [...Object.keys(readEnvFile(url('k8s/settings.env'))), ...env.map(({ name }) => name)];
  expect(needed).toEqual(expect.arrayContaining(Object.keys(readConfigFile('minimal.env'))));
  expect(needed).toContain('HEADRACE_DROP_API_KEY');
  for (const { name, valueFrom } of env)
    expect(valueFrom.secretKeyRef).toEqual({ name: 'headrace-secrets', key: name });
});

describe('the Kubernetes manifests', () => {
  const api = manifests('k8s/api.yaml');
  const stage = manifests('k8s/stage/stage.yaml');
  const settings = readEnvFile(url('k8s/settings.env'));
  const secrets = new Set(
    [api, stage].flatMap((all) => containerOf(deploymentIn(all)).env.map(({ name }) => name)),
  );
  const config: Config = parseConfig({
    ...readConfigFile('minimal.env'),
    ...settings,
  });

  test('settings and secrets are all that is needed, and no secret is a plain setting', () => {
    for (const name of Object.keys(readConfigFile('minimal.env')))
      expect(name in settings || secrets.has(name), name).toBe(true);
    expect(Object.keys(settings).filter((name) => /SECRET|KEY|PASSWORD|MONGO_URL/.test(name))).toEqual([]);
    for (const all of [api, stage])
      for (const { name, valueFrom } of containerOf(deploymentIn(all)).env)
        expect(valueFrom.secretKeyRef).toEqual({ name: 'headrace-secrets', key: name });
  });

  test.each([
    ['api', api, [ports.api, ports.metrics], ports.metrics],
    ['stage', stage, [ports.pipeline], ports.pipeline],
  ] as const)(
    '%s: ports, probes, limits, and no right that it does not need',
    (_, all, listening, metrics) => {
      const { spec } = deploymentIn(all).spec.template;
      const container = containerOf(deploymentIn(all));
      expect(container.ports.map(({ containerPort }) => containerPort)).toEqual(listening);
      const { annotations } = deploymentIn(all).spec.template.metadata;
      expect(annotations['prometheus.io/port']).toBe(String(metrics));
      for (const [probe, path] of [
        ['startupProbe', '/health/live'],
        ['livenessProbe', '/health/live'],
        ['readinessProbe', '/health/ready'],
      ] as const)
        expect(container[probe]).toMatchObject({ httpGet: { path, port: container.ports[0]!.name } });
      expect(Object.keys(container.resources.limits).sort()).toEqual(['cpu', 'memory']);
      expect(container.securityContext).toMatchObject({
        readOnlyRootFilesystem: true,
        allowPrivilegeEscalation: false,
      });
      expect(spec.securityContext.runAsNonRoot).toBe(true);
      expect(spec.terminationGracePeriodSeconds * 1_000).toBeGreaterThan(config.shutdownMs);
      expect(spec.topologySpreadConstraints).toHaveLength(2);
      expect(all.some(({ kind }) => kind === 'PodDisruptionBudget')).toBe(true);
    },
  );

  test.each(stageNames)('%s has a kustomization that runs this stage', (name) => {
    const { resources, nameSuffix, labels, patches } = parse(read(`k8s/${name}/kustomization.yaml`));
    expect([resources, nameSuffix]).toEqual([['../stage'], `-${name}`]);
    expect(labels[0].pairs).toEqual({ 'app.kubernetes.io/component': name });
    expect(parse(patches[0].patch)[0].value).toEqual(['pipeline', '--stages', name]);
  });

  test('KEDA follows the lag of split and validate and the CPU of sink, up to one thread a partition', () => {
    const scaled = manifests('k8s/keda/scaled-objects.yaml').map(({ metadata, spec }) => ({
      name: metadata.name,
      target: spec.scaleTargetRef.name,
      max: spec.maxReplicaCount,
      triggers: spec.triggers.map(({ type, metadata }: { type: string; metadata: object }) => ({
        type,
        ...metadata,
      })),
    }));
    const byLag = (stage: StageName, topic: TopicKey) => ({
      type: 'kafka',
      bootstrapServersFromEnv: 'HEADRACE_KAFKA_BROKERS',
      consumerGroup: groupName(config, stage),
      topic: topicName(config, topic),
    });
    const scalable = stageInputs.filter(({ stage }) => stage !== 'dispatch');
    expect(scaled).toMatchObject(
      scalable.map(({ topic, stage }) => ({
        name: `headrace-${stage}`,
        target: `headrace-${stage}`,
        max: config.partitions / config.threads,
        // The sink commits the offsets of a job's messages when the job is merged, so every large job raises its lag.
        triggers: [stage === 'sink' ? { type: 'cpu' } : byLag(stage, topic)],
      })),
    );
  });

  test('the network policy lets in what listens', () => {
    const policies = manifests('k8s/network.yaml');
    const open = policies.flatMap(({ spec }) =>
      spec.ingress.flatMap((rule: { ports: { port: number }[] }) => rule.ports.map(({ port }) => port)),
    );
    expect(new Set(open)).toEqual(new Set(Object.values(ports)));
  });

  const kubectl = (...args: string[]) => spawnSync('kubectl', args, { encoding: 'utf8' });
  const version = /"gitVersion": "v1\.(\d+)/.exec(
    kubectl('version', '--client', '--output=json').stdout ?? '',
  )?.[1];
  test.skipIf(Number(version ?? 0) < 27)('they render (needs kubectl 1.27 or newer)', () => {
    const { stdout, status, stderr } = kubectl('kustomize', fileURLToPath(url('k8s')));
    expect(status, stderr).toBe(0);
    const rendered = parseAllDocuments(stdout).map((document) => document.toJS() as Manifest);
    const deployments = rendered.filter(({ kind }) => kind === 'Deployment');
    expect(deployments.map(({ metadata }) => metadata.name).sort()).toEqual(
      ['api', ...stageNames].map((name) => `headrace-${name}`).sort(),
    );
    for (const { metadata, spec } of deployments) {
      const part = metadata.name.replace('headrace-', '');
      const labels = { 'app.kubernetes.io/name': 'headrace', 'app.kubernetes.io/component': part };
      expect(spec.selector.matchLabels).toEqual(labels);
      expect(spec.template.metadata.labels).toEqual(labels);
      for (const constraint of spec.template.spec.topologySpreadConstraints)
        expect(constraint.labelSelector.matchLabels).toEqual(labels);
      const [container] = spec.template.spec.containers;
      expect(container.args).toEqual(part === 'api' ? ['api'] : ['pipeline', '--stages', part]);
      const map = container.envFrom[0].configMapRef.name;
      expect(rendered.some(({ kind, metadata }) => kind === 'ConfigMap' && metadata.name === map)).toBe(true);
    }
    const budgets = rendered.filter(({ kind }) => kind === 'PodDisruptionBudget');
    expect(
      budgets.map(({ spec }) => spec.selector.matchLabels['app.kubernetes.io/component']).sort(),
    ).toEqual(['api', ...stageNames].sort());
  });
});
