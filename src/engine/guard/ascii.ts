const beyond = /[^\0-\x7f]/

/** The first characters of most texts that are not ASCII tell. */
const beginning = 256

/** Whether a text is ASCII, as most answers are: a search for one character is many times quicker than a pattern there. */
export const isAscii = (text: string): boolean =>
  !beyond.test(text.slice(0, beginning)) && Buffer.byteLength(text) === text.length
