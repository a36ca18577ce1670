import { createContext } from 'preact'
import { useContext, useEffect, useRef, useState } from 'preact/hooks'
import { ask } from '../live/session.ts'

/** The hashes of the images of a sample whose bytes the gateway keeps. */
export const KeptImages = createContext<readonly string[]>([])

/** The longer side of a thumbnail, in CSS pixels. */
const longestSide = 320

/**
 * An image of the sample that is shown, scaled down; nothing if its bytes are not kept. It is drawn on a canvas: the page's
 * content security policy loads no image, and a request with the tab's key fetches the bytes from the gateway.
 */
export function Thumbnail({ sha256 }: { readonly sha256: string }) {
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
