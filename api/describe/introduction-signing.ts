/** The parts of the introduction with code: signing user tokens, and verifying webhooks. */

import { MAX_TOKEN_SECONDS } from '../auth/user-tokens.ts';
import { KEPT_DAYS, RETRY_HOURS } from '../stores/deliveries.ts';
import { type Described, number, table } from './introduction-limits.ts';

export const userTokens = (config: Described) => `
## User tokens

You sign your customers’ tokens yourself: JWTs, HS256, with the token key you were given: a \`kid\` and its secret (\`tksec_…\`, used as
text). Any JWT library works. Without one, in Node:

\`\`\`js
import { createHmac } from 'node:crypto';

function signUserToken(kid, secret, partner, customer) {
  const part = (value) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const now = Math.floor(Date.now() / 1000);
  const header = part({ alg: 'HS256', typ: 'JWT', kid });
  const claims = part({ iss: partner, aud: '${config.userTokenAudience}', customer, iat: now, exp: now + 3600 });
  const signature = createHmac('sha256', secret).update(\`\${header}.\${claims}\`).digest('base64url');
  return \`\${header}.\${claims}.\${signature}\`;
}
\`\`\`

In Python:

\`\`\`python
import base64, hashlib, hmac, json, time

def sign_user_token(kid, secret, partner, customer):
    def encode(data):
        return base64.urlsafe_b64encode(data).rstrip(b"=")

    now = int(time.time())
    header = {"alg": "HS256", "typ": "JWT", "kid": kid}
    claims = {"iss": partner, "aud": "${config.userTokenAudience}", "customer": customer, "iat": now, "exp": now + 3600}
    signed = b".".join(encode(json.dumps(part).encode()) for part in (header, claims))
    signature = hmac.new(secret.encode(), signed, hashlib.sha256).digest()
    return (signed + b"." + encode(signature)).decode()
\`\`\`

${table(
  ['claim', 'content'],
  ['`iss`', 'your partner id'],
  ['`aud`', `\`${config.userTokenAudience}\``],
  ['`customer`', 'your name for the customer: any text'],
  ['`iat`, `exp`', `issued at and expires at, at most ${number(MAX_TOKEN_SECONDS)} seconds apart`],
)}

All claims are required. Sign on your server, never in a browser: the secret can act for all of your customers. A replaced key works
until you ask to retire it; then its tokens and their sessions end within five seconds.`;

export const webhooks = (config: Described) => `
## Webhooks

Register a URL under \`/v1/webhooks\` to get notified when imports, deletions and loads finish, with the record that a GET returns.
Deliveries follow [Standard Webhooks](https://www.standardwebhooks.com): any of its libraries verifies them with the \`whsec_…\` secret.
Without one, in Node:

\`\`\`js
import { createHmac, timingSafeEqual } from 'node:crypto';

function isGenuine(headers, body, secret) {
  const { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures } = headers;
  if (Math.abs(Date.now() / 1000 - timestamp) > 300) return false;
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
  const expected = createHmac('sha256', key).update(\`\${id}.\${timestamp}.\${body}\`).digest();
  return signatures.split(' ').some((one) => {
    const given = Buffer.from(one.slice('v1,'.length), 'base64');
    return given.length === expected.length && timingSafeEqual(given, expected);
  });
}
\`\`\`

\`body\` is the raw body, before parsing. Respond with any 2xx within ${config.webhookTimeoutMs / 1_000} seconds, and do the work afterwards.
Any other response is retried with backoff (1, 2, 4 … seconds, later hourly) for ${RETRY_HOURS} hours; then the delivery is \`failed\`. An event may
arrive more than once, always with the same \`webhook-id\`; events of different jobs may arrive out of order. Redirects are not followed, and
only public addresses are called. A failing receiver is not disabled unless it responds 410. Deliveries and their attempts are kept for
${KEPT_DAYS} days and can be sent again.`;
