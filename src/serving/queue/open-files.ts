/** The most files that the queue holds open, however many runs it has. */
const mostFiles = 256
/** Files that are asked to close at each use: those that are being written to are passed over. */
const mostAsked = 16

/** The open files of all runs: those that were used last. Whoever owns a file opens it again when it needs it. */
export class OpenFiles {
  readonly #most: number
  /** What closes each file, the least recently used first. It returns false while the file is in use. */
  readonly #files = new Map<object, () => boolean>()

  constructor(most = mostFiles) {
    this.#most = most
  }

  /** The file is about to be used. Another one is closed if there are too many. */
  used(file: object, close: () => boolean): void {
    this.#files.delete(file)
    this.#files.set(file, close)
    let asked = 0
    for (const [one, closeOne] of this.#files) {
      if (this.#files.size <= this.#most || asked === mostAsked) return
      asked += 1
      if (one !== file && closeOne()) this.#files.delete(one)
    }
  }

  /** Its owner closed it. */
  closed(file: object): void {
    this.#files.delete(file)
  }
}
