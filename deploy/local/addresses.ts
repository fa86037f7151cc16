/** The addresses of Kafka, MongoDB and S3. */
export interface ServerAddresses {
  readonly kafkaBrokers: readonly string[];
  readonly mongoUrl: string;
  /** Secure stacks only: the settings to log in. */
  readonly logins?: Readonly<Record<string, string>>;
  /** The topics' replication factor; set if we run more than one broker. */
  readonly replicationFactor?: number;
  readonly s3: {
    readonly endpoint: string;
    readonly region: string;
    readonly bucket: string;
    /** Empty: the AWS SDK finds the credentials. */
    readonly accessKeyId: string;
    readonly secretAccessKey: string;
    readonly issuer: string;
  };
}

export type Environment = Record<string, string | undefined>;

export function addressesAsEnvironment(addresses: ServerAddresses): Record<string, string> {
  return {
    HEADRACE_KAFKA_BROKERS: addresses.kafkaBrokers.join(','),
    HEADRACE_MONGO_URL: addresses.mongoUrl,
    ...addresses.logins,
    ...(addresses.replicationFactor === undefined
      ? {}
      : { HEADRACE_REPLICATION_FACTOR: String(addresses.replicationFactor) }),
    HEADRACE_S3_ENDPOINT: addresses.s3.endpoint,
    HEADRACE_PARTNER_S3_ENDPOINT: addresses.s3.endpoint,
    HEADRACE_S3_REGION: addresses.s3.region,
    HEADRACE_S3_BUCKET: addresses.s3.bucket,
    ...(addresses.s3.accessKeyId === ''
      ? {}
      : {
          HEADRACE_S3_ACCESS_KEY_ID: addresses.s3.accessKeyId,
          HEADRACE_S3_SECRET_ACCESS_KEY: addresses.s3.secretAccessKey,
        }),
    HEADRACE_S3_ISSUER: addresses.s3.issuer,
  };
}
