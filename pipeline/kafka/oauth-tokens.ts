/** Tokens for OAUTHBEARER: client credentials grant (RFC 6749, 4.4), cached, renewed when a fifth of their lifetime is left. */
import { z } from 'zod';
import { StartRefused } from '../runtime/errors.ts';

interface TokenOptions {
  url: string;
  clientId: string;
  clientSecret: string;
  scope?: string | undefined;
}

const TIMEOUT_MS = 10_000;
const SHARE_TO_USE = 0.8;
/** Used if the response has no expires_in. */
const PRESET_SECONDS = 300;

const answer = z.object({
  access_token: z.string().min(1),
  expires_in: z.coerce.number().positive().optional(),
});

export function createTokens({ url, clientId, clientSecret, scope }: TokenOptions): () => Promise<string> {
  const encoded = [clientId, clientSecret].map(encodeURIComponent).join(':');
  let kept: { token: Promise<string>; until: number } | undefined;

  async function ask(): Promise<z.output<typeof answer>> {
    const response = await fetch(url, {
      method: 'POST',
      headers: {
        authorization: `Basic ${Buffer.from(encoded).toString('base64')}`,
        accept: 'application/json',
      },
      body: new URLSearchParams({ grant_type: 'client_credentials', ...(scope ? { scope } : {}) }),
      redirect: 'error',
      signal: AbortSignal.timeout(TIMEOUT_MS),
    }).catch((cause: Error) => {
      const reason = (cause.cause as Error | undefined)?.message ?? cause.message;
      throw new Error(`HEADRACE_KAFKA_OAUTH_TOKEN_URL: ${url} does not answer (${reason})`, { cause });
    });
    if (response.status === 400 || response.status === 401)
      throw new StartRefused(
        `HEADRACE_KAFKA_OAUTH_CLIENT_ID, HEADRACE_KAFKA_OAUTH_CLIENT_SECRET: ${url} gives no token (${await reasonOf(response)})`,
      );
    if (!response.ok)
      throw new Error(
        `HEADRACE_KAFKA_OAUTH_TOKEN_URL: ${url} answered ${response.status} instead of a token`,
      );
    const parsed = answer.safeParse(await response.json().catch(() => null));
    if (parsed.success) return parsed.data;
    throw new StartRefused(`HEADRACE_KAFKA_OAUTH_TOKEN_URL: ${url} does not answer as a token endpoint`);
  }

  return () => {
    const now = performance.now();
    if (kept && now < kept.until) return kept.token;
    const asked = ask();
    const mine = { token: asked.then((got) => got.access_token), until: Number.POSITIVE_INFINITY };
    kept = mine;
    asked.then(
      ({ expires_in = PRESET_SECONDS }) => {
        mine.until = now + expires_in * SHARE_TO_USE * 1_000;
      },
      () => {
        if (kept === mine) kept = undefined;
      },
    );
    return mine.token;
  };
}

async function reasonOf(response: Response): Promise<string> {
  const body = (await response.json().catch(() => ({}))) as { error?: string; error_description?: string };
  return [response.status, body.error, body.error_description].filter(Boolean).join(', ');
}
