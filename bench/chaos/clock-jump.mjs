// Preloaded into the gateway: SIGUSR2 moves the wall clock two days forward, the next one back; monotonic time goes on.
const RealDate = Date
const day = 86_400_000
let shift = 0
process.on('SIGUSR2', () => {
  shift = shift === 0 ? 2 * day : 0
})
globalThis.Date = class extends RealDate {
  constructor(...given) {
    if (given.length === 0) super(RealDate.now() + shift)
    else super(...given)
  }
  static now() {
    return RealDate.now() + shift
  }
}
