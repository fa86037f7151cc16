// Preloaded into every thread (NODE_OPTIONS=--import …): shifts the wall clock by CLOCK_SHIFT_MS, and by the opposite amount while
// the file CLOCK_JUMP_FILE exists. Timers and performance.now() are monotonic and stay unchanged.
import { existsSync } from 'node:fs';

const RealDate = Date;
const ownShift = Number(process.env.CLOCK_SHIFT_MS ?? 0);
let shift = ownShift;
const jumpFile = process.env.CLOCK_JUMP_FILE;

if (jumpFile) {
  const looking = setInterval(() => {
    shift = existsSync(jumpFile) ? -ownShift : ownShift;
  }, 50);
  looking.unref();
}

globalThis.Date = class extends RealDate {
  constructor(...args) {
    if (args.length === 0) super(RealDate.now() + shift);
    else super(...args);
  }
  static now() {
    return RealDate.now() + shift;
  }
};
