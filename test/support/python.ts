import { spawnSync } from 'node:child_process'

const code = 'import sys; sys.exit(sys.version_info < (3, 9))'

/** Why tests of Python functions are left out on this machine; false where an interpreter is there. */
export const withoutPython: string | false =
  spawnSync('python3', ['-c', code]).status === 0 ? false : 'python3, 3.9 or later, is not installed'
