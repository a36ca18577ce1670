/** The least and the greatest of any number of values; [Infinity, -Infinity] of none. Spread arguments end at about 120,000. */
export function extent(values: Iterable<number>): [number, number] {
  let [least, greatest] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]
  for (const value of values) {
    if (value < least) least = value
    if (value > greatest) greatest = value
  }
  return [least, greatest]
}
