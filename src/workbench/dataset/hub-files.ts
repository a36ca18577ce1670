import { createHash, randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { copyFile, link, open, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { GatewayError } from '../../core/errors.ts'
import { makeFolder } from '../../core/make-folder.ts'
import { didYouMean } from '../../core/nearest-name.ts'
import { unwritable } from './files.ts'
import { type HubAddress, hubAddress, matches, parquetBranch } from './hub-address.ts'
import { BrokenDownload, HubClient, type HubOptions } from './hub-client.ts'
import { isObject } from './row.ts'

/** A file of a repository. `digest` is SHA-256 of its bytes, or Git's SHA-1 of a blob. */
interface HubFile {
  readonly path: string
  readonly size: number
  readonly digest: string
}

const mostFiles = 100_000

/**
 * Downloads what an `hf://` address names, and returns the path of the local copy: a file, or a folder `….parquet` that holds
 * the files of a split in order. Files are kept by the digest of their bytes, and read again from there. Throws RG_INPUT_INVALID
 * or RG_COMMAND_INVALID.
 */
export async function hubFiles(text: string, options: HubOptions): Promise<string> {
  const address = hubAddress(text)
  const client = new HubClient(options)
  const cache = join(cacheFolder(options.env), 'hub', client.host)
  const known = join(cache, 'addresses', `${sha256(address.text)}.json`)
  if (/^(?:1|on|yes|true)$/i.test(options.env.HF_HUB_OFFLINE ?? '')) return lastOf(known, address)
  const { commit, files } = await listed(address, client)
  const [first, ...others] = files
  if (!first) throw new GatewayError('RG_INPUT_INVALID', `${text}: the hub has no such file`)
  if (others.length > 0 && !files.every(({ path }) => path.endsWith('.parquet')))
    throw new GatewayError(
      'RG_INPUT_INVALID',
      `${text}: matches ${files.length} files; several are read only if all are Parquet`,
    )
  const missing = files.filter(({ digest, size }) => !existsSync(blobPath(cache, { digest, size })))
  if (missing.length > 0) {
    const bytes = missing.reduce((sum, { size }) => sum + size, 0)
    options.tell(
      `${text}: downloads ${missing.length} of ${files.length} files, ${(bytes / 1e6).toFixed(1)} MB`,
    )
  }
  try {
    for (const file of missing) await download(client, cache, address, commit, file)
    const place = others.length === 0 ? await single(cache, first) : await folder(cache, files)
    await writeWhole(known, JSON.stringify({ commit, place }))
    return place
  } catch (error) {
    if (error instanceof GatewayError || options.signal.aborted) throw error
    return unwritable(error)
  }
}

/** REWARD_GATEWAY_CACHE, else `reward-gateway` in the user's folder of caches. */
function cacheFolder({ REWARD_GATEWAY_CACHE: own, XDG_CACHE_HOME: caches }: HubOptions['env']): string {
  return own || join(caches || join(homedir(), '.cache'), 'reward-gateway')
}

async function lastOf(known: string, { text }: HubAddress): Promise<string> {
  const kept = await readFile(known, 'utf8').then(JSON.parse, () => null)
  if (isObject(kept) && typeof kept.place === 'string' && existsSync(kept.place)) return kept.place
  throw new GatewayError('RG_INPUT_INVALID', `${text}: was not downloaded before, and HF_HUB_OFFLINE is set`)
}

/** The files that an address names, in order, at a fixed commit. */
async function listed(
  { text, repository, what }: HubAddress,
  client: HubClient,
): Promise<{ readonly commit: string; readonly files: readonly HubFile[] }> {
  const revision = what.kind === 'split' ? parquetBranch : what.revision
  const api = `/api/datasets/${repository}`
  const { value } = await client.json(`${api}/revision/${encodeURIComponent(revision)}`, text)
  const commit = isObject(value) ? value.sha : null
  if (typeof commit !== 'string' || !/^[0-9a-f]{40,64}$/.test(commit))
    throw new GatewayError('RG_INPUT_INVALID', `${text}: the hub names no commit`)
  const all: HubFile[] = []
  const seen = new Set<string>()
  let page: string | null = `${api}/tree/${commit}?recursive=true`
  while (page !== null && !seen.has(page)) {
    seen.add(page)
    const reply: { readonly value: unknown; readonly next: string | null } = await client.json(page, text)
    if (!Array.isArray(reply.value))
      throw new GatewayError('RG_INPUT_INVALID', `${text}: the hub lists no files`)
    for (const entry of reply.value) all.push(...fileOf(entry))
    if (all.length > mostFiles)
      throw new GatewayError('RG_INPUT_INVALID', `${text}: has more than ${mostFiles} files`)
    page = reply.next
  }
  all.sort((a, b) => (a.path < b.path ? -1 : 1))
  const files =
    what.kind === 'files'
      ? all.filter(({ path }) => matches(path, what.pattern))
      : splitFiles(text, what, all)
  return { commit, files }
}

/** Nothing for a folder, or for an entry whose parts are not as the hub writes them. */
function fileOf(entry: unknown): readonly HubFile[] {
  if (!isObject(entry) || entry.type !== 'file' || typeof entry.path !== 'string') return []
  const { path } = entry
  const stored = isObject(entry.lfs) ? entry.lfs : entry
  const { oid, size } = stored
  const isSound =
    typeof oid === 'string' &&
    /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/.test(oid) &&
    typeof size === 'number' &&
    Number.isSafeInteger(size) &&
    size >= 0
  // Names of configs and splits are shown in errors.
  return isSound && path.length < 1000 && !/\p{C}/u.test(path) ? [{ path, size, digest: oid }] : []
}

/** The hub's Parquet files of a split: `CONFIG/SPLIT/0000.parquet`. Without a config there must be one, or one named `default`. */
function splitFiles(
  text: string,
  { config, split }: { readonly config: string | null; readonly split: string },
  all: readonly HubFile[],
): readonly HubFile[] {
  const found = new Map<string, Map<string, HubFile[]>>()
  for (const file of all) {
    const [first, second, third, ...rest] = file.path.split('/')
    if (first === undefined || second === undefined || !third?.endsWith('.parquet') || rest.length > 0)
      continue
    const splits = found.get(first) ?? new Map<string, HubFile[]>()
    splits.set(second, [...(splits.get(second) ?? []), file])
    found.set(first, splits)
  }
  const configs = [...found.keys()]
  const chosen = config ?? (configs.length === 1 ? configs[0] : configs.find((one) => one === 'default'))
  const none = (why: string): never => {
    throw new GatewayError('RG_INPUT_INVALID', `${text}: ${why}`)
  }
  const list = (names: readonly string[]) =>
    names
      .slice(0, 20)
      .map((one) => JSON.stringify(one.slice(0, 80)))
      .join(', ')
  if (configs.length === 0)
    return none('the hub has made no Parquet files of this data set: name its own files')
  if (chosen === undefined) return none(`has several configs: put one of ${list(configs)} before the split`)
  const splits = found.get(chosen)
  if (!splits)
    return none(`there is no config '${chosen}'${didYouMean(chosen, configs) || `, only ${list(configs)}`}`)
  const files = splits.get(split)
  if (files) return files
  if (splits.has(`partial-${split}`))
    return none(
      'the hub has made Parquet files of a part of this split only: name the files of the data set itself',
    )
  return none(
    `there is no split '${split}'${didYouMean(split, splits.keys()) || `, only ${list([...splits.keys()])}`}`,
  )
}

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')

/** Nothing that the hub names is part of a path, only digests. */
const blobPath = (cache: string, { digest }: Pick<HubFile, 'digest' | 'size'>): string =>
  join(cache, 'blobs', digest)

async function download(
  client: HubClient,
  cache: string,
  { text, repository }: HubAddress,
  commit: string,
  file: HubFile,
): Promise<void> {
  const path = file.path.split('/').map(encodeURIComponent).join('/')
  const target = blobPath(cache, file)
  await makeFolder(dirname(target))
  await client.file(`/datasets/${repository}/resolve/${commit}/${path}`, text, async (reply) => {
    const partial = `${target}.${process.pid}-${randomUUID()}.partial`
    const hash =
      file.digest.length === 64 ? createHash('sha256') : createHash('sha1').update(`blob ${file.size}\0`)
    let size = 0
    const out = await open(partial, 'wx')
    try {
      for await (const piece of reply.body ?? []) {
        size += piece.length
        if (size > file.size) break
        hash.update(piece)
        await out.writeFile(piece)
      }
      if (size !== file.size)
        throw new BrokenDownload(`${text}: a file arrived with another length than the hub lists`)
      if (hash.digest('hex') !== file.digest)
        throw new BrokenDownload(`${text}: a file arrived with other bytes than the hub lists`)
      await out.sync()
      await out.close()
      await rename(partial, target)
    } finally {
      await out.close().catch(() => {})
      await rm(partial, { force: true })
    }
  })
}

/** A blob under a name with its kind of file, by which it is read. */
async function single(cache: string, file: HubFile): Promise<string> {
  const ending = /(?:\.(?:jsonl|json|ndjson))?\.\w{1,10}$/.exec(file.path)?.[0] ?? ''
  const place = join(cache, 'files', `${file.digest}${ending}`)
  await linked(blobPath(cache, file), place)
  return place
}

/** A folder with these files as 00000.parquet, 00001.parquet, … It gets its name when it is complete. */
async function folder(cache: string, files: readonly HubFile[]): Promise<string> {
  const place = join(cache, 'splits', `${sha256(files.map(({ digest }) => digest).join('\n'))}.parquet`)
  if (existsSync(place)) return place
  const partial = `${place}.${process.pid}-${randomUUID()}.partial`
  await makeFolder(partial)
  try {
    for (const [at, file] of files.entries())
      await linked(blobPath(cache, file), join(partial, `${String(at).padStart(5, '0')}.parquet`))
    await rename(partial, place).catch(async (error) => {
      // Another process was faster.
      if (!existsSync(place)) throw error
    })
  } finally {
    await rm(partial, { recursive: true, force: true })
  }
  return place
}

/** A second name of a file, or a copy where the file system knows no links. */
async function linked(from: string, to: string): Promise<void> {
  if (existsSync(to) && (await stat(to)).size === (await stat(from)).size) return
  await makeFolder(dirname(to))
  const partial = `${to}.${process.pid}-${randomUUID()}.partial`
  try {
    await link(from, partial).catch(() => copyFile(from, partial))
    await rename(partial, to)
  } finally {
    await rm(partial, { force: true })
  }
}

async function writeWhole(path: string, text: string): Promise<void> {
  await makeFolder(dirname(path))
  const partial = `${path}.${process.pid}-${randomUUID()}.partial`
  await writeFile(partial, text)
  await rename(partial, path)
}
