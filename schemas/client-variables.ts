/** Environment variables of a partner's commands. The service ignores them. */
export const clientVariables = {
  profile: 'HEADRACE_PROFILE',
  apiUrl: 'HEADRACE_API_URL',
  apiKey: 'HEADRACE_API_KEY',
  userToken: 'HEADRACE_USER_TOKEN',
  storageUrl: 'HEADRACE_STORAGE_URL',
  storageEndpoint: 'HEADRACE_STORAGE_ENDPOINT',
  storageRegion: 'HEADRACE_STORAGE_REGION',
  storageAccessKeyId: 'HEADRACE_STORAGE_ACCESS_KEY_ID',
  storageSecretAccessKey: 'HEADRACE_STORAGE_SECRET_ACCESS_KEY',
} as const;

const names: ReadonlySet<string> = new Set(Object.values(clientVariables));

/** Where the local stack runs its servers: `docker` or `local`. The service ignores it, too. */
export const serversVariable = 'HEADRACE_SERVERS';

export const isClientVariable = (name: string): boolean => names.has(name) || name === serversVariable;
