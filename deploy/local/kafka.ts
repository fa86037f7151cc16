/** Kafka brokers in KRaft mode: each node is both broker and controller. */
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Download } from './cache.ts';
import { runTool, startDetached, stopProcess, textFrom } from './child.ts';
import { asProperties, type BrokerAt, kafkaSettings, logProperties } from './kafka-properties.ts';
import { withLock } from './lock.ts';
import { type BrokerName, brokerNames, brokersOf, type Cluster, single } from './names.ts';
import { anyFreePort, type PortName } from './ports.ts';
import { isRunning } from './process-identity.ts';
import { loginOf, scramArguments, secureJavaOptions, secureKafkaSettings, superUser } from './security.ts';
import { clusterOf, type StateFolder } from './state.ts';
import { START_MS, type Startable } from './supervise.ts';
import { needTool } from './tools.ts';
import { poll } from './wait.ts';

const version = '4.1.1';
export const kafkaAlternative = { server: 'Kafka', variable: 'HEADRACE_KAFKA_BROKERS' };

/** kafka_2.13 depends on slf4j 1.7 without a binding; log4j-slf4j-impl is the binding for 1.7. */
const pom = `<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>headrace</groupId><artifactId>local-kafka</artifactId><version>1</version>
  <dependencies>
    <dependency><groupId>org.apache.kafka</groupId><artifactId>kafka_2.13</artifactId><version>${version}</version></dependency>
    <dependency><groupId>org.apache.logging.log4j</groupId><artifactId>log4j-slf4j-impl</artifactId><version>2.24.3</version></dependency>
  </dependencies>
</project>
`;

export const kafkaDownload: Download = {
  folder: `kafka-${version}`,
  title: `Kafka ${version}`,
  size: { bytes: 56_000_000, folder: 'maven' },
  checkTools: () => needTool('mvn', 'download Kafka', kafkaAlternative),
  async fetchInto(directory, signal) {
    writeFileSync(join(directory, 'pom.xml'), pom);
    const libraries = join(directory, 'libs');
    const repository = join(directory, 'maven');
    const goal = ['dependency:copy-dependencies', `-DoutputDirectory=${libraries}`, '-DincludeScope=runtime'];
    const options = ['-B', '-q', `-Dmaven.repo.local=${repository}`, '-f', join(directory, 'pom.xml')];
    await runTool('mvn', [...options, ...goal], { cwd: directory, signal });
    rmSync(repository, { recursive: true });
  },
};

function loginOptions(folder: StateFolder) {
  const { username, password, ca } = loginOf(folder, superUser);
  return {
    ssl: { ca: readFileSync(ca) },
    sasl: { mechanism: 'scram-sha-512' as const, username, password },
  };
}

/** A broker lists itself only once it accepts requests. */
async function brokerAnswers(folder: StateFolder, name: BrokerName): Promise<boolean> {
  const { Kafka, logLevel } = await import('kafkajs');
  const { node, port } = brokerAt(folder, name);
  const admin = new Kafka({
    brokers: [`127.0.0.1:${port}`],
    ...(folder.state.secure ? loginOptions(folder) : {}),
    logLevel: logLevel.NOTHING,
    connectionTimeout: 5_000,
    requestTimeout: 5_000,
    retry: { retries: 0 },
  }).admin();
  try {
    await admin.connect();
    // kafkajs may ask any broker of the cluster, even one that has just died.
    const ask = () => admin.describeCluster();
    const { brokers } = await ask().catch(ask).catch(ask);
    return brokers.some(({ nodeId }) => nodeId === node);
  } catch {
    return false;
  } finally {
    await admin.disconnect().catch(() => {});
  }
}

const controllerOf = (name: BrokerName) => name.replace('kafka', 'kafkaController') as PortName;
export const sslOf = (name: BrokerName) => name.replace('kafka', 'kafkaSsl') as PortName;

/** The port that a broker listens on for clients, and the ports of all controllers of its cluster. */
function brokerAt({ state }: StateFolder, name: BrokerName) {
  return {
    node: brokerNames.indexOf(name) + 1,
    port: state.ports[name]!,
    controllers: brokersOf(clusterOf(state)).map((broker) => state.ports[controllerOf(broker)]!),
  };
}

/**
 * Class data sharing: the JVM maps an archive of the classes that a broker loads, which saves a third of the CPU time of a start. The
 * very first start creates it with a short-lived broker, under a temporary name, because a JVM crashes on a partial archive.
 */
async function makeClassArchive(kafka: string, archive: string): Promise<void> {
  const folder = mkdtempSync(join(kafka, 'archive-'));
  try {
    const port = await anyFreePort();
    const controllers = [await anyFreePort(new Set([port]))];
    const at = { node: 1, host: '127.0.0.1', port, controllers, logs: join(folder, 'logs') };
    const { java, properties } = configure(kafka, folder, at);
    await runTool('java', [...java, ...formatArguments(properties, randomBytes(16).toString('base64url'))]);
    const unfinished = join(folder, 'classes.jsa');
    const log = join(folder, 'log');
    const options = [...javaOptions, `-XX:ArchiveClassesAtExit=${unfinished}`];
    const broker = startDetached('java', [...options, ...java, 'kafka.Kafka', properties], { log });
    await poll(() => !isRunning(broker) || textFrom(log, 0).includes('Kafka Server started'), {
      deadlineMs: START_MS,
    });
    if (await stopProcess(broker, START_MS)) renameSync(unfinished, archive);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** JVM options. Empty if the archive cannot be created: a broker starts without it, too. */
async function classSharing(kafka: string): Promise<string[]> {
  const archive = join(kafka, 'broker-classes.jsa');
  const makeOnce = async () => {
    if (!existsSync(archive)) await makeClassArchive(kafka, archive);
  };
  if (!existsSync(archive)) await withLock(`${archive}.lock`, makeOnce).catch(() => {});
  return existsSync(archive) ? [`-XX:SharedArchiveFile=${archive}`] : [];
}

const javaOptions = [
  '-XX:+UseSerialGC',
  // No C2: of the four seconds of CPU that a broker took for 4 M rows, the optimising compiler took two.
  '-XX:TieredStopAtLevel=1',
  '-XX:+ExitOnOutOfMemoryError',
  '-Djava.awt.headless=true',
];

/** Writes the broker's configuration into its folder. */
function configure(kafka: string, folder: string, at: BrokerAt) {
  mkdirSync(folder, { recursive: true });
  const properties = join(folder, 'server.properties');
  const log4j = join(folder, 'log4j2.properties');
  writeFileSync(properties, asProperties(kafkaSettings(at)));
  writeFileSync(log4j, logProperties);
  return { properties, java: ['-cp', join(kafka, 'libs', '*'), `-Dlog4j2.configurationFile=${log4j}`] };
}

const formatArguments = (properties: string, clusterId: string) => [
  ...['kafka.tools.StorageTool', 'format', '--ignore-formatted'],
  ...[`--cluster-id=${clusterId}`, '--config', properties],
];

export function kafkaServer(
  name: BrokerName,
  home: () => Promise<string>,
  {
    cluster = single,
    secure: isSecure = false,
    advertised,
  }: { cluster?: Cluster; secure?: boolean; advertised?: number } = {},
): Startable {
  const isOne = cluster.brokers === 1;
  return {
    name,
    ports: [name, controllerOf(name), ...(isSecure ? [sslOf(name)] : [])],
    portsAreFixed: !isOne,
    deadlineMs: START_MS,
    async prepare(folder) {
      const data = folder.data(name);
      const logs = join(data, 'logs');
      const secure = folder.state.secure
        ? { sslPort: folder.state.ports[sslOf(name)]!, settings: secureKafkaSettings(folder) }
        : undefined;
      const kafka = await home();
      const sharing = await classSharing(kafka);
      const at = { ...brokerAt(folder, name), host: '127.0.0.1', advertised, logs, secure };
      const { java, properties } = configure(kafka, data, at);
      if (!existsSync(join(logs, 'meta.properties'))) {
        const format = formatArguments(properties, folder.state.secrets.kafkaClusterId);
        const scram = secure ? scramArguments(folder) : [];
        await runTool('java', ['-XX:TieredStopAtLevel=1', ...sharing, ...java, ...format, ...scram]);
      }
      const heap = isOne ? ['-Xms256m', '-Xmx512m'] : ['-Xms128m', '-Xmx192m'];
      const options = [...javaOptions, ...(secure ? secureJavaOptions(folder) : []), ...sharing];
      return { command: 'java', args: [...heap, ...options, ...java, 'kafka.Kafka', properties] };
    },
    answers: (folder) => brokerAnswers(folder, name),
  };
}
