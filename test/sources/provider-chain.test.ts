/** Without keys of its own, the pipeline reads the shared bucket with the credentials that the AWS SDK finds. */
import { expect, onTestFinished, test } from 'vitest';
import { createDriver } from '../support/driver.ts';
import { file, ids } from '../support/rows.ts';
import { startHeadrace } from '../support/run-headrace.ts';
import { servers, startService, uniqueEnvironment } from '../support/stack.ts';
import { waitFor } from '../support/wait-for.ts';

const none = { HEADRACE_S3_ACCESS_KEY_ID: undefined, HEADRACE_S3_SECRET_ACCESS_KEY: undefined };
/** Hides any credentials of the machine that runs the tests. */
const nowhere = {
  AWS_ACCESS_KEY_ID: undefined,
  AWS_SECRET_ACCESS_KEY: undefined,
  AWS_SESSION_TOKEN: undefined,
  AWS_PROFILE: undefined,
  AWS_WEB_IDENTITY_TOKEN_FILE: undefined,
  AWS_CONTAINER_CREDENTIALS_RELATIVE_URI: undefined,
  AWS_CONTAINER_CREDENTIALS_FULL_URI: undefined,
  AWS_SHARED_CREDENTIALS_FILE: '/dev/null',
  AWS_CONFIG_FILE: '/dev/null',
  AWS_EC2_METADATA_DISABLED: 'true',
};

test('in its own variables', async () => {
  const { accessKeyId, secretAccessKey } = servers().s3;
  const found = { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey };
  const service = await startService({ env: { ...none, ...nowhere, ...found }, parts: ['pipeline'] });
  onTestFinished(() => service.stop());
  const keys = { s3AccessKeyId: accessKeyId, s3SecretAccessKey: secretAccessKey };
  const driver = await createDriver({ ...service.config, ...keys });
  onTestFinished(() => driver.close());
  const partner = await driver.partner();
  await driver.upload(partner, 'a.csv', file(ids(100), await driver.attribute(partner)));
  const job = await driver.ended(await driver.import(partner, 'a.csv'));
  expect(job).toMatchObject({ status: 2, uniqueDevices: 100 });
});

test('nowhere: the log names the settings', async () => {
  const env = { ...uniqueEnvironment(), ...none, ...nowhere, HEADRACE_PIPELINE_PORT: '0' };
  const { child, outcome, stdout } = startHeadrace(['pipeline'], env);
  onTestFinished(() => void child.kill('SIGKILL'));
  await waitFor(() => /jobs wait: check HEADRACE_S3_ACCESS_KEY_ID and HEADRACE_S3_SECRET/.test(stdout()), {
    what: 'the names of the settings in the log',
  });
  child.kill('SIGTERM');
  await outcome;
});
