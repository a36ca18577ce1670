/** Slots that a series keeps of each length, and bins of a distribution. */
export const slotCount = 120
/** Bins of a distribution over a reward's range. */
export const binCount = 20

/** Values of one stretch of time. */
export interface Slot {
  /** Its number since the epoch, in lengths of a slot. */
  readonly at: number
  n: number
  sum: number
  bins: Uint32Array
}

/** The newest stretches of one length; where nothing happened there is none. */
export class Slots {
  readonly ms: number
  readonly #ring = new Array<Slot | undefined>(slotCount)

  constructor(ms: number) {
    this.ms = ms
  }

  add(now: number, bin: number, value: number): void {
    const at = Math.floor(now / this.ms)
    const place = at % slotCount
    let slot = this.#ring[place]
    if (slot?.at !== at) {
      slot = { at, n: 0, sum: 0, bins: new Uint32Array(binCount) }
      this.#ring[place] = slot
    }
    slot.n += 1
    slot.sum += value
    slot.bins[bin] = (slot.bins[bin] ?? 0) + 1
  }

  /** In order of time; those before `since` (a slot's number) and those that have grown too old are left out. */
  read(now: number, since = 0): Slot[] {
    const oldest = Math.max(since, Math.floor(now / this.ms) - slotCount + 1)
    return this.#ring
      .filter((slot) => slot !== undefined && slot.at >= oldest)
      .sort((a, b) => a!.at - b!.at) as Slot[]
  }

  /** Two bins become one, in the upper or the lower half of a range twice as wide. */
  widen(half: 'lower' | 'upper'): void {
    const first = half === 'upper' ? binCount / 2 : 0
    for (const slot of this.#ring) {
      if (!slot) continue
      const bins = new Uint32Array(binCount)
      for (const [bin, count] of slot.bins.entries()) bins[first + (bin >> 1)]! += count
      slot.bins = bins
    }
  }
}

/** So often a range is doubled; what lies beyond counts in the outermost bins. */
const mostDoublings = 60

/** Values over time: ten minutes closely, four hours roughly. */
export class Series {
  readonly recent = new Slots(5000)
  readonly long = new Slots(120_000)
  #low: number
  #high: number
  #doublings = 0
  #widened = 0

  /** Without bounds the range grows with the values. */
  constructor(range: readonly [number, number] | null) {
    const isBounded =
      range !== null && Number.isFinite(range[0]) && Number.isFinite(range[1]) && range[0] < range[1]
    ;[this.#low, this.#high] = isBounded ? range : [0, 1]
    if (isBounded) this.#doublings = mostDoublings
  }

  get range(): readonly [number, number] {
    return [this.#low, this.#high]
  }

  /** When the range last grew, milliseconds since the epoch; 0: it never has. */
  get widened(): number {
    return this.#widened
  }

  /** `value`: finite. `now`: milliseconds since the epoch. */
  add(now: number, value: number): void {
    while ((value < this.#low || value > this.#high) && this.#doublings < mostDoublings)
      this.#widen(now, value)
    const share = (value - this.#low) / (this.#high - this.#low)
    const bin = Math.min(binCount - 1, Math.max(0, Math.floor(share * binCount)))
    this.recent.add(now, bin, value)
    this.long.add(now, bin, value)
  }

  #widen(now: number, value: number): void {
    this.#doublings += 1
    this.#widened = now
    const width = this.#high - this.#low
    const half = value < this.#low ? 'upper' : 'lower'
    if (half === 'upper') this.#low -= width
    else this.#high += width
    this.recent.widen(half)
    this.long.widen(half)
  }
}
