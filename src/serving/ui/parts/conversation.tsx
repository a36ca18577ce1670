import { createContext } from 'preact'
import { useContext, useEffect, useRef, useState } from 'preact/hooks'
import type { ImageHandle } from '../../../scoring/models/interface/question-json.ts'
import type { RowDetail } from '../../telemetry/live/shown-row.ts'
import { ask } from '../live/session.ts'
import { Kept, Text } from './text.tsx'

type ShownTurn = NonNullable<RowDetail['sample']['turns']>[number]
type ShownPart = Extract<ShownTurn['content'], readonly unknown[]>[number]

/** A conversation, turn by turn: texts, reasoning and arguments of calls folded, images as thumbnails. */
export function Conversation(props: {
  readonly turns: readonly ShownTurn[]
  readonly label: string
  readonly leftOut?: number | undefined
  /** The turn whose text is the response. */
  readonly final?: number
  /** The index of the turn with which each segment begins. */
  readonly segments?: readonly number[] | undefined
}) {
  const { turns, label, leftOut = 0, final, segments = [] } = props
  return (
    <>
      {turns.map((turn, at) => (
        <>
          {segments.map((start, index) => start === at && <h4>Segment {index}</h4>)}
          <Turn turn={turn} label={`${label}, turn ${at}`} isFinal={at === final} />
        </>
      ))}
      {leftOut > 0 && <p class="muted">{leftOut} more turns</p>}
    </>
  )
}

function Turn(props: { readonly turn: ShownTurn; readonly label: string; readonly isFinal: boolean }) {
  const { turn, label, isFinal } = props
  const { role, content, reasoning, tool_calls: calls = [], name, tool_call_id: answers, other } = turn
  const isSilent = content === '' && (calls.length > 0 || reasoning !== undefined)
  return (
    <div class={role === 'assistant' ? 'turn' : 'turn other'}>
      <p class="role">
        <Text of={role} />
        {typeof name === 'string' && <Text of={` ${name}`} />}
        {answers !== undefined && <Text of={` answers ${answers}`} />}
        {isFinal && <span class="chip scored">response</span>}
      </p>
      {reasoning !== undefined && (
        <details class="asked">
          <summary>Reasoning</summary>
          <Kept of={reasoning} label={`${label}: reasoning`} />
        </details>
      )}
      {Array.isArray(content)
        ? content.map((part, at) => <Part part={part} label={`${label}, part ${at}`} />)
        : !isSilent && <Kept of={content} label={label} />}
      {questionImages(turn).map(({ sha256, size, mediaType }) => (
        <Picture sha256={sha256} size={size} type={mediaType} />
      ))}
      {calls.map((call, at) => (
        <details class="asked">
          <summary>
            calls <b>{typeof call.name === 'string' ? <Text of={call.name} /> : 'a tool'}</b>
            {call.malformed && <span class="chip failed">malformed</span>}
            {call.id !== undefined && (
              <span class="muted">
                <Text of={call.id} />
              </span>
            )}
          </summary>
          <Kept of={call.arguments} label={`${label}, call ${at}: arguments`} />
        </details>
      ))}
      {other !== undefined && (
        <details class="asked">
          <summary>Other fields</summary>
          <Kept of={other} label={`${label}: other fields`} />
        </details>
      )}
      {turn.left_out !== undefined && <p class="muted">{turn.left_out} more parts or calls</p>}
    </div>
  )
}

function Part({ part, label }: { readonly part: ShownPart; readonly label: string }) {
  switch (part.type) {
    case 'text':
      return <Kept of={part.text} label={label} />
    case 'refusal':
      return (
        <>
          <span class="chip flag">refusal</span>
          <Kept of={part.text} label={`${label}: refusal`} />
        </>
      )
    case 'image':
      return <Picture sha256={part.sha256} size={part.size} type={part.media_type} />
    case 'other':
      return (
        <details class="asked">
          <summary>
            <Text of={part.name} />
          </summary>
          <Kept of={part.value} label={label} />
        </details>
      )
  }
}

/** An image: its type, size and hash, with a thumbnail where its bytes are kept. */
function Picture(props: {
  readonly sha256: string | null
  readonly size: number
  readonly type: string | null | undefined
}) {
  const { sha256, size, type } = props
  return (
    <div class="muted picture">
      <p>
        <span class="chip">image</span> <Text of={type ?? 'of unknown type'} />,{' '}
        {size === 0 ? 'sent without bytes' : `${size} bytes`}
        {sha256 !== null && (
          <>
            , SHA-256 <code>{sha256.slice(0, 16)}…</code>
          </>
        )}
      </p>
      {sha256 !== null && <Thumbnail sha256={sha256} />}
    </div>
  )
}

/** The turns in a JSON text, such as a recorded prompt; null if it is anything else. */
export function turnsIn(text: string): readonly ShownTurn[] | null {
  if (!text.startsWith('[{')) return null
  try {
    const value: unknown = JSON.parse(text)
    return Array.isArray(value) && value.every(isTurn) ? value : null
  } catch {
    return null
  }
}

/** The images that a judge was sent stand beside the text of its question. */
const questionImages = (turn: ShownTurn): readonly ImageHandle[] =>
  'images' in turn && Array.isArray(turn.images) ? turn.images.filter(isHandle) : []

const isHandle = (value: unknown): value is ImageHandle =>
  isFields(value) &&
  typeof value.sha256 === 'string' &&
  typeof value.size === 'number' &&
  isTextOrNone(value.mediaType)

type Fields = Readonly<Record<string, unknown>>
const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** A text of a sample may imitate a conversation, so that every field is looked at. */
function isTurn(value: unknown): value is ShownTurn {
  if (!isFields(value) || typeof value.role !== 'string') return false
  const { content, tool_calls: calls = [], tool_call_id: id, left_out: left } = value
  return (
    (typeof content === 'string' || (Array.isArray(content) && content.every(isPart))) &&
    Array.isArray(calls) &&
    calls.every((call) => isFields(call) && isTextOrNone(call.id)) &&
    isTextOrNone(id) &&
    (left === undefined || typeof left === 'number')
  )
}

const isTextOrNone = (value: unknown): boolean => value === undefined || typeof value === 'string'

function isPart(value: unknown): value is ShownPart {
  if (!isFields(value)) return false
  if (value.type === 'other') return typeof value.name === 'string'
  if (value.type !== 'image') return value.type === 'text' || value.type === 'refusal'
  const { sha256, size, media_type: type } = value
  return (
    typeof size === 'number' &&
    (sha256 === null || typeof sha256 === 'string') &&
    (type === null || typeof type === 'string')
  )
}

/** The hashes of the images of a sample whose bytes the gateway keeps. */
export const KeptImages = createContext<readonly string[]>([])

/** The longer side of a thumbnail, in CSS pixels. */
const longestSide = 320

/**
 * An image of the sample that is shown, scaled down; nothing if its bytes are not kept. It is drawn on a canvas: the page's
 * content security policy loads no image, and a request with the tab's key fetches the bytes from the gateway.
 */
function Thumbnail({ sha256 }: { readonly sha256: string }) {
  const isKept = useContext(KeptImages).includes(sha256)
  const canvas = useRef<HTMLCanvasElement>(null)
  const [size, tell] = useState<{ readonly width: number; readonly height: number } | null>(null)
  const [trouble, say] = useState('')
  useEffect(() => {
    if (!isKept) return
    const ending = new AbortController()
    drawImage(`api/images/${sha256}`, canvas.current, ending.signal).then(tell, () => {
      if (!ending.signal.aborted) say('This image cannot be shown.')
    })
    return () => ending.abort()
  }, [isKept, sha256])
  if (!isKept) return null
  if (trouble !== '') return <p>{trouble}</p>
  const what = size ? `Image, ${size.width} by ${size.height} pixels` : 'Image, loading'
  return <canvas ref={canvas} class="thumbnail" role="img" aria-label={what} width={1} height={1} />
}

/** Returns the size of the whole image. */
async function drawImage(path: string, canvas: HTMLCanvasElement | null, signal: AbortSignal) {
  const image = await createImageBitmap(await (await ask(path, { signal })).blob())
  const { width, height } = image
  const context = canvas?.getContext('2d')
  if (canvas && context && !signal.aborted) {
    const scale = Math.min(1, longestSide / Math.max(width, height))
    const density = Math.min(1 / scale, globalThis.devicePixelRatio)
    canvas.width = Math.max(1, Math.round(width * scale * density))
    canvas.height = Math.max(1, Math.round(height * scale * density))
    canvas.style.width = `${canvas.width / density}px`
    context.drawImage(image, 0, 0, canvas.width, canvas.height)
  }
  image.close()
  return { width, height }
}
