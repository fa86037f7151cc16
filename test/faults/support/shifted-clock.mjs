// Loaded before the program, in each of its threads (NODE_OPTIONS=--import …): its wall clock differs by CLOCK_SHIFT_MS from the
// machine's, and is on the other side of it while the file CLOCK_JUMP_FILE is there. Timers and performance.now(), which no
// setting of a clock changes, stay as they are.
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
