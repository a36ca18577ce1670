/** The last `count` code points of a text, in time that does not depend on its length. */
export function lastCodePoints(text: string, count: number): string {
  return [...text.slice(-2 * count)].slice(-count).join('')
}

/** How many code points a text has; a lone surrogate counts as one. */
export function countCodePoints(text: string): number {
  let count = 0
  for (let at = 0; at < text.length; count++) at += (text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1
  return count
}

/** The code points of a text; a lone surrogate is one. */
export function codePointsOf(text: string): Uint32Array {
  const points = new Uint32Array(text.length)
  let count = 0
  for (let at = 0; at < text.length; at++) {
    const point = text.codePointAt(at)!
    if (point > 0xffff) at++
    points[count++] = point
  }
  return points.subarray(0, count)
}
