import { GatewayError } from '../../core/errors.ts'
import { codeOf, reasonOf } from '../../core/system-error.ts'

/** The address a command listens at. */
export interface Place {
  readonly host: string
  readonly port: number
}

/** Turns a listen error into RG_COMMAND_INVALID, which says why and what to do. Returns other errors unchanged. */
export function cannotListen(cause: unknown, { host, port: first }: Place): unknown {
  if (cause instanceof GatewayError) return cause
  if (!(cause instanceof Error && 'syscall' in cause)) return cause
  const code = codeOf(cause)
  // With several servers, the port of the one that failed.
  const port = 'port' in cause && typeof cause.port === 'number' ? cause.port : first
  const why = Object.hasOwn(remedies, code) ? remedies[code]?.(port) : reasonOf(cause)
  return new GatewayError('RG_COMMAND_INVALID', `cannot listen at ${host}, port ${port}: ${why}`, { cause })
}

const remedies: Readonly<Record<string, (port: number) => string>> = {
  EADDRINUSE: () =>
    'the port is in use; stop the process that uses it, or choose another one with --port (0: any)',
  EADDRNOTAVAIL: () =>
    'this machine does not have the address; give --host 127.0.0.1 to listen for this machine only, 0.0.0.0 for all',
  EACCES: (port) =>
    port < 1024 && port > 0
      ? 'ports below 1024 need more privileges; choose another one with --port'
      : 'permission is denied',
  ENOTFOUND: () => 'the name has no known address; --host takes a name or address of this machine',
  EAI_AGAIN: () => 'the name has no known address; --host takes a name or address of this machine',
  EINVAL: () => 'the address cannot be used to listen; --host takes a name or address of this machine',
  EAFNOSUPPORT: () => 'this machine has no addresses of this kind; give --host 127.0.0.1',
}
