import { GenericContainer } from 'testcontainers';
import { expect, test } from 'vitest';
import { describeContainer } from '../../deploy/local/containers.ts';
import { openState } from '../../deploy/local/state.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const ports = { kafka: 9_192, kafkaController: 9_193, mongod: 27_117, s3: 7_170 };

test.each(['kafka', 'mongod', 's3'] as const)(
  'the container of %s is reached from this machine alone',
  (name) => {
    const folder = openState(temporaryFolder());
    folder.state.ports = ports;
    const { hostConfig } = describeContainer(GenericContainer, folder, name) as unknown as {
      hostConfig: { PortBindings: Record<string, object[]> };
    };
    expect(hostConfig.PortBindings).toEqual({
      [`${ports[name]}/tcp`]: [{ HostIp: '127.0.0.1', HostPort: String(ports[name]) }],
    });
  },
);
