/** The metrics of a running service: all that are declared, on the dashboard or in an alert, with correct values. */
import { expect } from 'vitest';
import { apiMetrics, pipelineMetrics, processMetrics } from '../../schemas/metrics.ts';
import { parseMetrics } from '../load/observe-pipeline.ts';
import { eventually } from '../support/eventually.ts';
import { withService } from '../support/fixture.ts';
import { file, ids } from '../support/rows.ts';
import type { OwnService } from '../support/stack.ts';
import { waitFor } from '../support/wait-for.ts';
import { expressions, metricsIn } from './monitoring-files.ts';

const test = withService();

const scrape = async (url: string) => (await fetch(`${url}/metrics`)).text();
const ofApi = (service: OwnService) => scrape(service.metricsUrl);
const ofPipeline = (service: OwnService) => scrape(service.pipelineUrl);
const names = (text: string) => [...text.matchAll(/^# TYPE (\S+) /gm)].map(([, name]) => name!);
const ours = (text: string) =>
  names(text)
    .filter((name) => name.startsWith('headrace_'))
    .sort();
const declared = (...groups: Record<string, { name: string }>[]) =>
  groups
    .flatMap((group) => Object.values(group))
    .map(({ name }) => name)
    .sort();

test('each process exports what is declared for it, and nothing else of ours', async ({ service }) => {
  expect(ours(await ofApi(service))).toEqual(declared(apiMetrics, processMetrics));
  expect(ours(await ofPipeline(service))).toEqual(declared(pipelineMetrics, processMetrics));
});

test('the dashboard and the alert rules use only metrics that are exported', async ({ service }) => {
  const texts = [await ofApi(service), await ofPipeline(service)];
  const exported = new Set(texts.flatMap(names));
  const isHistogram = (name: string) => texts.some((text) => text.includes(`# TYPE ${name} histogram`));
  const isExported = (name: string) => {
    const whole = name.replace(/_(bucket|sum|count)$/, '');
    return exported.has(name) ? !isHistogram(name) : whole !== name && isHistogram(whole);
  };
  for (const [place, expr] of expressions)
    expect(
      metricsIn(expr).filter((name) => !isExported(name)),
      place,
    ).toEqual([]);
});

test('a job is counted at every stage, and its rejected rows by reason', async ({ service, driver }) => {
  const partner = await driver.partner();
  const attribute = await driver.attribute(partner);
  const body = `${file(ids(1_000), attribute)}\nnot-a-device,${attribute}\n`;
  await driver.upload(partner, 'metrics.csv', body);
  const job = await driver.import(partner, 'metrics.csv');
  expect((await driver.ended(job)).status).toBe(2);
  const stages = ['dispatch', 'split', 'validate', 'sink'];
  await eventually(async () => {
    const values = parseMetrics(await ofPipeline(service));
    return {
      inFlight: values.get('headrace_jobs_in_flight'),
      held: values.get('headrace_sink_held_bytes'),
      dispatchers: values.get('headrace_dispatcher_active'),
      lag: stages.map((stage) => values.get(`headrace_consumer_lag_messages{stage="${stage}"}`)),
      storage: values.get('headrace_backend_up{backend="storage"}'),
    };
  }).toEqual({ inFlight: 0, held: 0, dispatchers: 1, lag: [0, 0, 0, 0], storage: 1 });
  const values = parseMetrics(await ofPipeline(service));
  // At least: redelivered messages are processed again.
  const atLeast = {
    headrace_storage_read_bytes_total: body.length,
    headrace_rows_validated_total: 1_001,
    'headrace_rows_rejected_total{reason="bad_identifier"}': 1,
    'headrace_jobs_ended_total{kind="import",status="done"}': 1,
    'headrace_job_duration_seconds_count{kind="import",phase="total"}': 1,
    'headrace_merge_duration_seconds_count{kind="import"}': 1,
  };
  for (const [name, count] of Object.entries(atLeast))
    expect(values.get(name), name).toBeGreaterThanOrEqual(count);
  for (const stage of stages) {
    expect(values.get(`headrace_messages_handled_total{stage="${stage}"}`), stage).toBeGreaterThan(0);
    expect(values.get(`headrace_handled_bytes_total{stage="${stage}"}`), stage).toBeGreaterThan(0);
    expect(values.get(`headrace_stage_duration_seconds_count{stage="${stage}"}`), stage).toBeGreaterThan(0);
    expect(values.get(`headrace_partitions_assigned{stage="${stage}"}`), stage).toBeGreaterThan(0);
  }
  for (const topic of ['files', 'rows', 'devices', 'rejects', 'status'])
    expect(values.get(`headrace_published_bytes_total{topic="${topic}"}`), topic).toBeGreaterThan(0);
});

test('a job that nobody works on shows at the API, and grows older', async ({ service, driver }) => {
  await service.kill('pipeline');
  const partner = await driver.partner();
  const job = await driver.import(partner, 'missing.csv');
  const read = async (name: string) => parseMetrics(await ofApi(service)).get(name);
  const age = () => read('headrace_oldest_job_age_seconds{phase="accepted"}');
  await eventually(() => read('headrace_jobs{phase="accepted"}')).toBe(1);
  const before = await waitFor(age, { what: 'an age' });
  await eventually(age).toBeGreaterThan(before);
  await service.restart('pipeline');
  await driver.ended(job);
  await eventually(() => read('headrace_jobs{phase="accepted"}')).toBe(0);
  await eventually(age).toBe(0);
});
