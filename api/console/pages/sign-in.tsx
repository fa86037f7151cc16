import { useState } from 'preact/hooks';
import { readSender } from '../api-client.ts';
import { Problem } from '../components/basics.tsx';
import { useAction, useTitle } from '../hooks.ts';
import { useQuery } from '../query.ts';
import { endedWith, signIn } from '../session.ts';

const reasons: Record<string, string> = {
  expired:
    'Your session or link has expired. Ask the partner that sent you the link for a new one, or sign in.',
  invalid: 'The link is not valid. Ask the partner that sent it for a new one, or sign in.',
  suspended: 'Access is suspended. Contact the partner that sent you the link.',
  'signed-out': 'You are signed out.',
};

export function SignInPage({ query }: { query: URLSearchParams }) {
  useTitle('Sign in');
  const [secret, setSecret] = useState('');
  const { isBusy, problem, run } = useAction();
  const reason = reasons[query.get('reason') ?? ''];
  const from = query.get('from');
  const sender = useQuery(from, () => readSender(from!));
  const partner = sender.data?.data.partner_name ?? (query.get('reason') === 'expired' ? endedWith() : null);

  const submit = (event: Event) => {
    event.preventDefault();
    return run(() => signIn(secret, query.get('next')));
  };

  return (
    <div class="sign-in card stack stack-wide">
      <h1>{partner ? 'This link has expired' : 'Sign in'}</h1>
      {!partner && <p class="quiet">See your audiences and imports, and watch them load.</p>}
      {reason && !problem && (
        <p class="notice" role="status">
          {partner ? (
            <>
              Ask <strong>{partner}</strong> for a new link to the report, or sign in below.
            </>
          ) : (
            reason
          )}
        </p>
      )}
      {problem && <Problem problem={problem} />}
      <form class="stack stack-tight" method="post" onSubmit={submit}>
        <label for="secret">API key or user token</label>
        <input
          id="secret"
          type="password"
          required
          autocomplete="off"
          spellcheck={false}
          aria-describedby="secret-hint"
          value={secret}
          onInput={(event) => setSecret(event.currentTarget.value)}
        />
        <p id="secret-hint" class="quiet">
          Partners sign in with an API key (hr_…), customers with a user token from their partner. This page
          does not store it.
        </p>
        <button type="submit" class="primary" disabled={isBusy}>
          {isBusy ? 'Checking…' : 'Sign in'}
        </button>
      </form>
    </div>
  );
}
