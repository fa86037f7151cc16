import { audiencePath } from '../../../client/client.ts';
import type { Audience } from '../../../client/types.ts';
import { read } from '../../api-client.ts';
import { useQuery } from '../../query.ts';
import { navigate } from '../../router.ts';

const MAX_LISTED = 1_000;
const list = `${audiencePath}?limit=${MAX_LISTED}`;

interface Props {
  audience: number;
  /** The other audience; 0: none. */
  chosen: number;
  here: string;
  hrefOf: (audience: number) => string;
}

/** Chooses another audience to show beside this one. */
export function CompareWith({ audience, chosen, here, hrefOf }: Props) {
  const others = useQuery(list, async (signal) => (await read<Audience[]>(list, signal)).data);
  const comparable = (others.data ?? []).filter(
    ({ audience_id, unique_devices }) => audience_id !== audience && unique_devices > 0,
  );
  if (comparable.length === 0) return null;
  return (
    <label class="choice compare-with">
      <span>Compare with</span>
      <select
        value={chosen}
        onChange={({ currentTarget: { value } }) => navigate(value === '0' ? here : hrefOf(Number(value)))}
      >
        <option value="0">no other audience</option>
        {comparable.map(({ audience_id, name }) => (
          <option key={audience_id} value={audience_id}>
            {name}
          </option>
        ))}
      </select>
    </label>
  );
}
