/** The AWS issuer's IAM requests: the calls in order, and a policy that opens exactly one prefix. */
import { Readable } from 'node:stream';
import { type HttpRequest, HttpResponse } from '@smithy/core/protocols';
import { describe, expect, it } from 'vitest';
import { createAwsIssuer } from '../../api/provisioning/aws-issuer.ts';
import {
  emptyPolicy,
  partnerPolicy,
  partnerStatements,
  withStatements,
} from '../../api/provisioning/policies.ts';
import type { Config } from '../../schemas/config.ts';

const partner = { id: 'p-one', prefix: 'p-one/', storageUser: 'HRONE' };
const config = {
  s3Bucket: 'shared',
  s3Region: 'eu-west-1',
  s3Endpoint: '',
  s3AccessKeyId: 'root',
  s3SecretAccessKey: 'secret',
} as Config;

describe('the policy', () => {
  it('allows objects under the prefix and listing of it, with TLS and without keys of the partner’s own', () => {
    expect(partnerPolicy(config, partner)).toEqual({
      Version: '2012-10-17',
      Statement: [
        {
          Sid: 'ObjectsHRONE',
          Effect: 'Allow',
          Action: [
            's3:GetObject',
            's3:PutObject',
            's3:DeleteObject',
            's3:AbortMultipartUpload',
            's3:ListMultipartUploadParts',
          ],
          Resource: 'arn:aws:s3:::shared/p-one/*',
        },
        {
          Sid: 'ListHRONE',
          Effect: 'Allow',
          Action: ['s3:ListBucket'],
          Resource: 'arn:aws:s3:::shared',
          Condition: { StringLike: { 's3:prefix': ['p-one/*'] } },
        },
        {
          Sid: 'OnlyWithTls',
          Effect: 'Deny',
          Action: ['s3:*'],
          Resource: ['arn:aws:s3:::shared', 'arn:aws:s3:::shared/*'],
          Condition: { Bool: { 'aws:SecureTransport': ['false'] } },
        },
        {
          Sid: 'NoCustomerKeys',
          Effect: 'Deny',
          Action: ['s3:PutObject'],
          Resource: 'arn:aws:s3:::shared/*',
          Condition: { Null: { 's3:x-amz-server-side-encryption-customer-algorithm': ['false'] } },
        },
      ],
    });
  });

  it.each([
    ['eu-central-1', 'aws'],
    ['cn-north-1', 'aws-cn'],
    ['us-gov-west-1', 'aws-us-gov'],
  ])('in %s names the resources of %s', (s3Region, partition) => {
    const text = JSON.stringify(partnerPolicy({ ...config, s3Region }, partner));
    expect(new Set(text.match(/arn:[\w-]+:s3/g))).toEqual(new Set([`arn:${partition}:s3`]));
  });

  it('wants TLS only of storage that has it', () => {
    const sids = (s3Endpoint: string) =>
      partnerPolicy({ ...config, s3Endpoint }, partner).Statement.map(({ Sid }) => Sid);
    expect(sids('https://minio:9000')).toContain('OnlyWithTls');
    expect(sids('http://minio:9000')).not.toContain('OnlyWithTls');
  });

  it.each(['', '/', '*/', 'p-one', 'p-?/', 'a/b/', 'p$/'])('refuses %j as a prefix', (prefix) => {
    expect(() => partnerPolicy(config, { ...partner, prefix })).toThrow(/prefix/);
  });

  it('of a bucket: a partner’s statements replace its own and leave the others', () => {
    const other = { ...partner, prefix: 'p-two/', storageUser: 'HRTWO' };
    const statements = (who: typeof partner) => partnerStatements('shared', who, { named: true });
    let policy = withStatements(emptyPolicy(), 'HRONE', statements(partner));
    policy = withStatements(policy, 'HRTWO', statements(other));
    policy = withStatements(policy, 'HRONE', statements(partner));
    expect(policy.Statement).toHaveLength(4);
    expect(new Set(policy.Statement.map(({ Principal }) => Principal!.AWS[0]))).toEqual(
      new Set(['HRONE', 'HRTWO']),
    );
    expect(withStatements(policy, 'HRONE', []).Statement).toEqual(statements(other));
  });
});

describe('IAM', () => {
  const result = (action: string, content: string) =>
    `<${action}Response xmlns="https://iam.amazonaws.com/doc/2010-05-08/"><${action}Result>${content}</${action}Result>` +
    `<ResponseMetadata><RequestId>r-1</RequestId></ResponseMetadata></${action}Response>`;
  const answers: Record<string, string> = {
    CreateAccessKey:
      '<AccessKey><UserName>HRONE</UserName><AccessKeyId>AKIA1</AccessKeyId><Status>Active</Status>' +
      '<SecretAccessKey>abc/+=&amp;</SecretAccessKey></AccessKey>',
    ListAccessKeys:
      '<IsTruncated>false</IsTruncated><AccessKeyMetadata>' +
      '<member><UserName>HRONE</UserName><AccessKeyId>AKIA1</AccessKeyId><Status>Active</Status></member>' +
      '<member><UserName>HRONE</UserName><AccessKeyId>AKIA2</AccessKeyId><Status>Inactive</Status></member>' +
      '</AccessKeyMetadata>',
  };

  /** An issuer whose signed requests get IAM's responses. */
  function record(s3Region = config.s3Region) {
    const calls: { action: string; parameters: Record<string, string>; request: HttpRequest }[] = [];
    const issuer = createAwsIssuer(
      { ...config, s3Region },
      {
        async handle(request: HttpRequest) {
          const {
            Action: action,
            Version: _,
            ...parameters
          } = Object.fromEntries(new URLSearchParams(String(request.body)));
          calls.push({ action: action!, parameters, request });
          const body = Readable.from([result(action!, answers[action!] ?? '')]);
          return { response: new HttpResponse({ statusCode: 200, headers: {}, body }) };
        },
      },
    );
    return { calls, issuer };
  }

  it('issue: the user, confined before it has a key', async () => {
    const { calls, issuer } = record();
    expect(await issuer.issue(partner)).toEqual({ accessKeyId: 'AKIA1', secretAccessKey: 'abc/+=&' });
    expect(calls.map(({ action }) => action)).toEqual(['CreateUser', 'PutUserPolicy', 'CreateAccessKey']);
    expect(calls[0]!.parameters).toEqual({
      UserName: 'HRONE',
      Path: '/headrace/',
      'Tags.member.1.Key': 'partner',
      'Tags.member.1.Value': 'p-one',
    });
    expect(JSON.parse(calls[1]!.parameters.PolicyDocument!)).toEqual(partnerPolicy(config, partner));
    for (const { parameters, request } of calls) {
      expect(parameters.UserName).toBe('HRONE');
      expect([request.method, request.protocol, request.hostname]).toEqual([
        'POST',
        'https:',
        'iam.amazonaws.com',
      ]);
      expect(request.headers.authorization).toMatch(/Credential=root\/\d{8}\/us-east-1\/iam\/aws4_request/);
    }
  });

  it('suspend and resume: the policy goes and comes, user and keys stay', async () => {
    const { calls, issuer } = record();
    await issuer.suspend!(partner);
    await issuer.resume!(partner);
    expect(calls.map(({ action, parameters }) => [action, parameters.UserName])).toEqual([
      ['DeleteUserPolicy', 'HRONE'],
      ['PutUserPolicy', 'HRONE'],
    ]);
    expect(JSON.parse(calls[1]!.parameters.PolicyDocument!)).toEqual(partnerPolicy(config, partner));
  });

  it.each([
    ['cn-northwest-1', 'iam.cn-north-1.amazonaws.com.cn'],
    ['us-gov-east-1', 'iam.us-gov.amazonaws.com'],
  ])('of %s is at %s', async (region, hostname) => {
    const { calls, issuer } = record(region);
    await issuer.issue(partner);
    expect(calls[0]!.request.hostname).toBe(hostname);
  });

  it('revoke: keys, policy, user', async () => {
    const { calls, issuer } = record();
    await issuer.revoke(partner);
    expect(calls.map(({ action, parameters }) => [action, parameters.AccessKeyId])).toEqual([
      ['ListAccessKeys', undefined],
      ['DeleteAccessKey', 'AKIA1'],
      ['DeleteAccessKey', 'AKIA2'],
      ['DeleteUserPolicy', undefined],
      ['DeleteUser', undefined],
    ]);
  });
});
