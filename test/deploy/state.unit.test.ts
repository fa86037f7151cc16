import { statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openState } from '../../deploy/local/state.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

test('a new state has secrets of its own, kept from other users, and the next one opens the same', () => {
  const directory = temporaryFolder();
  const { state } = openState(directory);
  expect(statSync(join(directory, 'state.json')).mode & 0o777).toBe(0o600);
  expect(Buffer.from(state.secrets.headrace, 'base64')).toHaveLength(32);
  expect(openState(directory).state).toEqual(state);
  expect(openState(temporaryFolder()).state.secrets).not.toEqual(state.secrets);
});

test('the id of the Kafka cluster never begins with a dash, which its tools take for an option', () => {
  const ids = Array.from({ length: 300 }, () => openState(temporaryFolder()).state.secrets.kafkaClusterId);
  for (const id of ids) {
    expect(id).toMatch(/^[A-Za-z0-9]/);
    expect(Buffer.from(id, 'base64url')).toHaveLength(16);
  }
});
