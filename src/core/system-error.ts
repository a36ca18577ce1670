/** Node's error codes for files and folders, in words that complete `PATH: `. */
const fileWords: Readonly<Record<string, string>> = {
  ENOENT: 'does not exist',
  EEXIST: 'already exists',
  ENOTDIR: 'does not exist: a part of its path is a file',
  EISDIR: 'is a folder; a file is needed',
  EACCES: 'permission is denied',
  EPERM: 'permission is denied',
  EROFS: 'the file system is read-only',
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk quota is used up',
  EFBIG: 'the file would be larger than the system allows',
  EMFILE: "too many files are open; raise the limit, e.g. 'ulimit -n 4096'",
  ENFILE: 'too many files are open on this machine',
  ENAMETOOLONG: 'the name is too long',
  ELOOP: 'its symbolic links form a loop',
  EBUSY: 'another process is using it',
  EIO: 'the disk cannot read or write it',
  ENXIO: 'is not a regular file',
  Z_DATA_ERROR: 'is not a gzip file, or is damaged',
  Z_BUF_ERROR: 'is a truncated gzip file',
}

/** Node's error code, or '' if there is none. */
export const codeOf = (error: unknown): string => {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  return typeof code === 'string' ? code : ''
}

/** The problem with a file or folder in words, or null for other errors. */
export function fileTrouble(error: unknown): string | null {
  const code = codeOf(error)
  return Object.hasOwn(fileWords, code) ? (fileWords[code] ?? null) : null
}

/** The path that a system error names, or ''. */
export const pathOf = (error: unknown): string =>
  error instanceof Error && 'path' in error && typeof error.path === 'string' ? error.path : ''

/** Node's error codes for connections, in words. */
const serverWords: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing listens there',
  ENOTFOUND: 'its host name cannot be resolved',
  EAI_AGAIN: 'its host name cannot be resolved',
  ECONNRESET: 'it closes the connection',
  UND_ERR_SOCKET: 'it closes the connection',
  EHOSTUNREACH: 'this machine is unreachable',
  ENETUNREACH: 'this network is unreachable',
  ETIMEDOUT: 'its machine does not answer',
  UND_ERR_CONNECT_TIMEOUT: 'its machine does not answer',
}

/** Words for a failed connection whose message ends in Node's error code. Other messages are unchanged. */
export function connectionTrouble(message: string): string {
  const [, code = ''] = /^the connection failed: (\w+)$/.exec(message) ?? []
  return (Object.hasOwn(serverWords, code) ? serverWords[code] : undefined) ?? message
}

/** The problem in words if its code is known, otherwise the first line of the error. */
export const reasonOf = (error: unknown): string =>
  fileTrouble(error) ?? (error instanceof Error ? error.message : String(error)).split('\n', 1)[0] ?? ''
