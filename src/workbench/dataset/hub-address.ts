import { GatewayError } from '../../core/errors.ts'

/** Where rows lie on a Hugging Face hub: the Parquet files of a split, or files of the repository. */
export interface HubAddress {
  /** As the user wrote it. */
  readonly text: string
  /** `owner/name` */
  readonly repository: string
  readonly what:
    | { readonly kind: 'split'; readonly config: string | null; readonly split: string }
    | { readonly kind: 'files'; readonly revision: string; readonly pattern: string }
}

const scheme = 'hf://'
const forms = [
  'hf://OWNER/NAME/SPLIT',
  'hf://OWNER/NAME/CONFIG/SPLIT',
  'hf://OWNER/NAME[@REVISION]/PATH.parquet',
].join(', ')

const name = /^\w[\w.-]{0,127}$/
const revisionName = /^\w[\w./-]{0,199}$/
/** Kinds of files that can be read. */
const fileEnding = /\.(?:parquet|jsonl|json|ndjson|gz)$/

/** Throws RG_COMMAND_INVALID with the forms of an address. `datasets/` may stand before the owner, as other tools write it. */
export function hubAddress(text: string): HubAddress {
  const refuse = (why: string): never => {
    throw new GatewayError('RG_COMMAND_INVALID', `${text}: ${why}; an address is one of ${forms}`)
  }
  const parts = text.slice(scheme.length).split('/')
  if (parts[0] === 'datasets') parts.shift()
  const [owner = '', named = '', ...rest] = parts
  const [dataset = '', ...revisions] = named.split('@')
  if (!name.test(owner) || !name.test(dataset) || revisions.length > 1)
    return refuse('names no data set of a hub')
  const repository = `${owner}/${dataset}`
  const revision = revisions[0]
  if (revision !== undefined && (!revisionName.test(revision.replace(/^~/, '')) || revision.includes('..')))
    return refuse('the revision is no name of a branch, a tag or a commit')
  const last = rest.at(-1) ?? ''
  if (rest.length === 0 || rest.includes('') || rest.some((one) => one === '..' || one === '.'))
    return refuse('names no split')
  if (fileEnding.test(last))
    return {
      text,
      repository,
      // DuckDB's name for the branch of the hub's own Parquet files.
      what: {
        kind: 'files',
        revision: revision === '~parquet' ? parquetBranch : (revision ?? 'main'),
        pattern: rest.join('/'),
      },
    }
  if (revision !== undefined)
    return refuse('the hub has splits of the newest revision only: with a revision, name files')
  if (rest.length > 2 || !rest.every((one) => name.test(one))) return refuse('names no split')
  return {
    text,
    repository,
    what: { kind: 'split', config: rest.length === 2 ? (rest[0] ?? '') : null, split: last },
  }
}

/** The branch in which a hub keeps the Parquet files that it made of a data set, as `CONFIG/SPLIT/0000.parquet`. */
export const parquetBranch = 'refs/convert/parquet'

/** `*` is any text within a name and `**` any folders. */
export function matches(path: string, pattern: string): boolean {
  return foldersMatch(path.split('/'), pattern.split('/'), (text, wanted) => textMatches(text, wanted))
}

/** Greedy: after a wildcard the first place that fits is taken, and moved on if what follows does not fit. */
function foldersMatch(
  texts: readonly string[],
  wanted: readonly string[],
  fits: (text: string, wanted: string) => boolean,
): boolean {
  let [at, want, star, mark] = [0, 0, -1, 0]
  while (at < texts.length) {
    const next = wanted[want]
    if (next === '**') [star, mark, want] = [want, at, want + 1]
    else if (next !== undefined && fits(texts[at] ?? '', next)) [at, want] = [at + 1, want + 1]
    else if (star >= 0) [want, mark, at] = [star + 1, mark + 1, mark + 1]
    else return false
  }
  return wanted.slice(want).every((one) => one === '**')
}

const textMatches = (text: string, wanted: string): boolean =>
  foldersMatch(
    [...text],
    [...wanted].map((one) => (one === '*' ? '**' : one)),
    (a, b) => a === b,
  )
