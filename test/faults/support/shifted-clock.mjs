// Loaded before the program, in each of its threads (NODE_OPTIONS=--import …): its wall clock differs by CLOCK_SHIFT_MS from the
// machine's, and jumps to the other side of it at CLOCK_JUMP_AT. Timers and performance.now(), which no setting of a clock
// changes, stay as they are.
const RealDate = Date;
const shift = Number(process.env.CLOCK_SHIFT_MS ?? 0);
const jumpAt = Number(process.env.CLOCK_JUMP_AT ?? Number.POSITIVE_INFINITY);

function shiftedNow() {
  const now = RealDate.now();
  return now < jumpAt ? now + shift : now - shift;
}

globalThis.Date = class extends RealDate {
  constructor(...args) {
    if (args.length === 0) super(shiftedNow());
    else super(...args);
  }
  static now() {
    return shiftedNow();
  }
};
