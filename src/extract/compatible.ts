const runOfMarks = /([\p{M}\uff9e\uff9f]{30})[\p{M}\uff9e\uff9f]+/gu

/** The text in Unicode's NFKC form. Of a run of combining marks the first 30 stay: reordering more of them is quadratic. */
export const compatible = (text: string): string => text.replace(runOfMarks, '$1').normalize('NFKC')
