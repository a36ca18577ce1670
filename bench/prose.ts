const sentence = 'We add the apples of the first day to those of the second day, and then we count again. '

/** So many characters of English that hold no answer: what makes a response long. */
export const prose = (length: number): string =>
  sentence.repeat(Math.ceil(length / sentence.length)).slice(0, length)
