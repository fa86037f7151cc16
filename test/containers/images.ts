/**
 * Substitutes for the project's images if the registry is unreachable: the same servers on Debian, with the entry points, users and
 * volumes of the official images. Their contents are cached like the servers of `npm start`.
 */
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { cached, checkTools, type Download } from '../../deploy/local/cache.ts';
import { runTool } from '../../deploy/local/child.ts';
import { images } from '../../deploy/local/containers.ts';
import { kafkaDownload } from '../../deploy/local/kafka.ts';
import { logProperties } from '../../deploy/local/kafka-properties.ts';
import { mongodDownload } from '../../deploy/local/mongod.ts';
import { s3Download } from '../../deploy/local/s3.ts';
import { StartError } from '../../deploy/local/start-error.ts';
import { onPath } from '../../deploy/local/tools.ts';

export const nodeImage = 'node:24-slim';
const baseImage = 'headrace-test-base';
const say = (line: string) => process.stderr.write(`${line}\n`);
const docker = (...args: string[]) => runTool('docker', args);

function needs(tool: string, purpose: string): void {
  if (!onPath(tool))
    throw new StartError('missing_tool', `${tool} is not on the PATH; it is needed to ${purpose}`);
}

const debian: Download = {
  folder: 'container-base-bookworm',
  title: 'Debian, the base of images',
  checkTools: () => needs('debootstrap', 'make images that cannot be pulled'),
  async fetchInto(directory, signal) {
    const root = join(directory, 'root');
    const packages = '--include=ca-certificates,libcurl4,openjdk-17-jre-headless';
    await runTool('debootstrap', ['--variant=minbase', packages, 'bookworm', root], { signal });
    await runTool('tar', ['-C', root, '-cf', join(directory, 'rootfs.tar'), '.'], { signal });
    rmSync(root, { recursive: true });
  },
};

const [nodeVersion, npmVersion] = ['24.21.0', '11.21.1'];
/** The package `node` installs this package with a script. */
const nodePackage = `node-linux-${process.arch}`;
const node: Download = {
  folder: `container-node-${nodeVersion}-npm-${npmVersion}`,
  title: `Node ${nodeVersion} and npm ${npmVersion}`,
  checkTools: () => needs('npm', 'get Node'),
  async fetchInto(directory, signal) {
    const packages = [`${nodePackage}@${nodeVersion}`, `npm@${npmVersion}`];
    await runTool('npm', ['install', '--prefix', directory, '--no-audit', '--no-fund', ...packages], {
      signal,
    });
  },
};

/** Builds within our own module: their modules exclude versions, which `go install` refuses. */
async function goBuild(
  directory: string,
  { name, source, version, flags }: { name: string; source: string; version: string; flags: string },
  signal: AbortSignal,
): Promise<void> {
  const module = mkdtempSync(join(tmpdir(), 'headrace-go-'));
  const go = (...args: string[]) => runTool('go', args, { cwd: module, env: { CGO_ENABLED: '0' }, signal });
  try {
    await go('mod', 'init', 'headrace');
    await go('get', `${source}@v${version}`);
    await go('build', '-ldflags', flags, '-o', join(directory, name), source);
  } finally {
    rmSync(module, { recursive: true });
  }
}

const [composeVersion, buildxVersion] = ['2.40.3', '0.26.1'];
/** Plugins of the docker command that Debian does not have. */
const plugins: Download = {
  folder: `docker-plugins-compose-${composeVersion}-buildx-${buildxVersion}`,
  title: `Docker Compose ${composeVersion} and Buildx ${buildxVersion}`,
  checkTools: () => needs('go', 'build Docker Compose and Buildx'),
  async fetchInto(directory, signal) {
    const compose = 'github.com/docker/compose/v2';
    const buildx = 'github.com/docker/buildx';
    await goBuild(
      directory,
      {
        name: 'docker-compose',
        source: `${compose}/cmd`,
        version: composeVersion,
        flags: `-X ${compose}/internal.Version=v${composeVersion}`,
      },
      signal,
    );
    await goBuild(
      directory,
      {
        name: 'docker-buildx',
        source: `${buildx}/cmd/buildx`,
        version: buildxVersion,
        flags: `-X ${buildx}/version.Version=v${buildxVersion}`,
      },
      signal,
    );
  },
};

/** The Go module version of release 3.5.0. */
const prometheusModule = '0.305.0';
const prometheus: Download = {
  folder: 'prometheus-3.5.0',
  title: 'Prometheus 3.5.0',
  checkTools: () => needs('go', 'build Prometheus'),
  fetchInto: (directory, signal) =>
    goBuild(
      directory,
      {
        name: 'prometheus',
        source: 'github.com/prometheus/prometheus/cmd/prometheus',
        version: prometheusModule,
        flags: '-s -w',
      },
      signal,
    ),
};

/** Creates a DOCKER_CONFIG folder in which the docker command finds Compose and Buildx. */
export async function dockerConfig(directory: string, signal: AbortSignal): Promise<string> {
  const config = join(directory, 'docker-config');
  mkdirSync(config);
  cpSync(await get(plugins, signal), join(config, 'cli-plugins'), { recursive: true });
  return config;
}

async function get(download: Download, signal: AbortSignal): Promise<string> {
  checkTools(download);
  return cached(download, say, signal);
}

async function buildFrom(
  image: string,
  dockerfile: string,
  files: Record<string, string | { from: string }>,
): Promise<void> {
  const context = mkdtempSync(join(tmpdir(), 'headrace-image-'));
  try {
    for (const [name, content] of Object.entries(files)) {
      if (typeof content === 'string') writeFileSync(join(context, name), content);
      else await runTool('cp', ['-a', content.from, join(context, name)]);
    }
    writeFileSync(join(context, 'Dockerfile'), `FROM ${baseImage}\n${dockerfile}`);
    await runTool('docker', ['build', '-q', '-t', image, context], { env: { DOCKER_BUILDKIT: '0' } });
  } finally {
    rmSync(context, { recursive: true });
  }
}

const kafkaRun = `#!/bin/sh
set -ef
export CLUSTER_ID="\${CLUSTER_ID:-5L6g3nShT-eMCtK--X86sw}"
java='java -cp /opt/kafka/libs/* -Dlog4j2.configurationFile=/etc/kafka/docker/log4j2.properties'
result=$($java -XX:TieredStopAtLevel=1 kafka.docker.KafkaDockerWrapper setup --default-configs-dir /etc/kafka/docker \\
  --mounted-configs-dir /mnt/shared/config --final-configs-dir /opt/kafka/config 2>&1) ||
  echo "$result" | grep -i 'already formatted' || { echo "$result"; exit 1; }
exec $java -Xmx512m -XX:TieredStopAtLevel=1 kafka.Kafka /opt/kafka/config/server.properties
`;

async function makeKafka(image: string, signal: AbortSignal): Promise<void> {
  const dockerfile = `COPY libs /opt/kafka/libs
COPY run log4j2.properties log4j2.yaml tools-log4j2.yaml server.properties /etc/kafka/docker/
RUN chmod 755 /etc/kafka/docker/run && useradd -u 1000 appuser \\
 && mkdir -p /var/lib/kafka/data /etc/kafka/secrets /mnt/shared/config /opt/kafka/config \\
 && chown -R appuser /var/lib/kafka /etc/kafka /mnt/shared /opt/kafka/config
USER appuser
VOLUME ["/etc/kafka/secrets", "/var/lib/kafka/data", "/mnt/shared/config"]
CMD ["/etc/kafka/docker/run"]
`;
  await buildFrom(image, dockerfile, {
    libs: { from: join(await get(kafkaDownload, signal), 'libs') },
    run: kafkaRun,
    'log4j2.properties': logProperties,
    // Read and copied by the setup.
    'log4j2.yaml': '',
    'tools-log4j2.yaml': '',
    'server.properties': '',
  });
}

async function makeMongo(image: string, signal: AbortSignal): Promise<void> {
  const dockerfile = `COPY mongod /usr/bin/mongod
RUN mkdir -p /data/db /data/configdb
VOLUME ["/data/db", "/data/configdb"]
CMD ["mongod"]
`;
  await buildFrom(image, dockerfile, { mongod: { from: join(await get(mongodDownload, signal), 'mongod') } });
}

async function makeS3(image: string, signal: AbortSignal): Promise<void> {
  const version = image.slice(image.lastIndexOf(':') + 1);
  const found = await runTool('go', ['mod', 'download', '-json', `github.com/versity/versitygw@${version}`]);
  const { Dir } = JSON.parse(found) as { Dir: string };
  const dockerfile = `COPY versitygw docker-entrypoint.sh /usr/local/bin/
RUN chmod 755 /usr/local/bin/docker-entrypoint.sh
ENTRYPOINT ["/usr/local/bin/docker-entrypoint.sh"]
`;
  await buildFrom(image, dockerfile, {
    versitygw: { from: join(await get(s3Download, signal), 'versitygw') },
    'docker-entrypoint.sh': { from: join(Dir, 'docker-entrypoint.sh') },
  });
}

/** Includes the host's npm configuration and certificates, so that `npm ci` works in a build. */
async function makeNode(image: string, signal: AbortSignal): Promise<void> {
  const modules = join(await get(node, signal), 'node_modules');
  const npmrc = join(homedir(), '.npmrc');
  const certificates = '/etc/ssl/certs/ca-certificates.crt';
  const dockerfile = `COPY node /usr/local/bin/node
COPY npm /usr/local/lib/node_modules/npm
COPY npmrc /usr/local/etc/npmrc
COPY certificates ${certificates}
RUN ln -s ../lib/node_modules/npm/bin/npm-cli.js /usr/local/bin/npm && chmod 755 /usr/local/bin/npm
ENV NODE_EXTRA_CA_CERTS=${certificates}
CMD ["node"]
`;
  await buildFrom(image, dockerfile, {
    node: { from: join(modules, nodePackage, 'bin', 'node') },
    npm: { from: join(modules, 'npm') },
    npmrc: existsSync(npmrc) ? { from: npmrc } : '',
    certificates: { from: certificates },
  });
}

async function makePrometheus(image: string, signal: AbortSignal): Promise<void> {
  const dockerfile = `COPY prometheus /bin/prometheus
RUN mkdir -p /prometheus && chown nobody /prometheus
USER nobody
VOLUME ["/prometheus"]
ENTRYPOINT ["/bin/prometheus"]
CMD ["--config.file=/etc/prometheus/prometheus.yml", "--storage.tsdb.path=/prometheus"]
`;
  await buildFrom(image, dockerfile, {
    prometheus: { from: join(await get(prometheus, signal), 'prometheus') },
  });
}

const recipes: Record<string, (image: string, signal: AbortSignal) => Promise<void>> = {
  [images.kafka]: makeKafka,
  [images.mongod]: makeMongo,
  [images.s3]: makeS3,
  [nodeImage]: makeNode,
  'prom/prometheus:v3.5.0': makePrometheus,
};

const succeeds = (...args: string[]) =>
  docker(...args).then(
    () => true,
    () => false,
  );

/** Returns the images that could not be pulled. */
export async function ensureImages(signal: AbortSignal): Promise<string[]> {
  const made: string[] = [];
  for (const [image, make] of Object.entries(recipes)) {
    if ((await succeeds('image', 'inspect', image)) || (await succeeds('pull', '-q', image))) continue;
    if (!(await succeeds('image', 'inspect', baseImage)))
      await docker('import', join(await get(debian, signal), 'rootfs.tar'), baseImage);
    await make(image, signal);
    say(`made ${image}: it cannot be pulled`);
    made.push(image);
  }
  return made;
}
