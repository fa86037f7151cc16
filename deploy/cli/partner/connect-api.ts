/** An API client with the partner's address and keys. */
import { type ApiClient, createClient, partnerHeaders, RETRY_MS } from '../../../api/client/client.ts';
import packageJson from '../../../package.json' with { type: 'json' };
import { CommandError, exitCodes, usageError } from './exit-codes.ts';
import { required, type Settings } from './settings.ts';

/** Checked here, because fetch would quote the secret in its error. */
function checkHeader(name: string, value = ''): void {
  if (!/^[\x21-\x7e]*$/.test(value))
    throw new CommandError(
      exitCodes.notAuthorized,
      'unauthorized',
      `${name} contains characters that are not allowed: copy it again`,
    );
}

export function connectApi(settings: Settings, signal?: AbortSignal, minRetryMs = 0): ApiClient {
  const baseUrl = required(settings, 'api_url');
  if (!URL.canParse(baseUrl) || !/^https?:$/.test(new URL(baseUrl).protocol))
    throw usageError(`${baseUrl} is not the address of a service, such as https://import.example.com`);
  const apiKey = required(settings, 'api_key');
  checkHeader('api_key', apiKey);
  checkHeader('user_token', settings.user_token);
  const headers = {
    ...partnerHeaders(apiKey, settings.user_token),
    'User-Agent': `headrace/${packageJson.version}`,
  };
  return createClient({ baseUrl, headers, signal, retryMs: Math.max(RETRY_MS, minRetryMs) });
}
