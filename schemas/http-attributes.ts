/** Attributes over HTTP: who sees them. */
import { z } from 'zod';

export const visibility = z.enum(['public', 'private'], 'must be public or private').meta({
  description:
    '`public`: the name, the owner and the share of the attribute may appear in the reports of every partner and customer. `private`: only in those of its owner.',
  example: 'public',
});

export const changeAttribute = z.strictObject({ visibility }).meta({ id: 'ChangeAttribute' });
