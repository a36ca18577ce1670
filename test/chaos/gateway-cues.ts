/**
 * Preloaded into the gateway: SIGUSR2 moves the wall clock two days forward, the next one back; monotonic time goes on.
 * SIGWINCH collects garbage.
 */
const RealDate = Date
const twoDays = 172_800_000
let shift = 0
process.on('SIGUSR2', () => {
  shift = shift === 0 ? twoDays : 0
})
process.on('SIGWINCH', () => globalThis.gc?.())
globalThis.Date = class extends RealDate {
  constructor(...given: [] | [number]) {
    if (given.length === 0) super(RealDate.now() + shift)
    else super(...given)
  }

  static override now(): number {
    return RealDate.now() + shift
  }
} as DateConstructor
