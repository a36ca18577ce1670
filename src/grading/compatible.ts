const runOfMarks = /([\p{M}\uff9e\uff9f]{30})[\p{M}\uff9e\uff9f]+/gu

/**
 * The text in Unicode's NFKC form, in time that no text can blow up: of a run of combining marks the first 30 stay
 * (ordering them is quadratic), and U+FDFA stays as it is (it would be 18 characters).
 */
export const compatible = (text: string): string =>
  text
    .replace(runOfMarks, '$1')
    .split('\ufdfa')
    .map((part) => part.normalize('NFKC'))
    .join('\ufdfa')
