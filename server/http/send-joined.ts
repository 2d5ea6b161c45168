import type { Context } from 'koa'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Layout } from '../files/layout.ts'
import { readJoined, readRecipe } from '../files/recipes.ts'
import type { SendOptions } from './file-answer.ts'

/**
 * Sends an index that is no file, joined from its pieces on the way: whole, or 304. A failure cuts the answer off: its
 * status is gone.
 * @returns false when there is no recipe for this path
 */
export async function sendJoined(
  ctx: Context,
  layout: Pick<Layout, 'shards'>,
  { path, type, cacheControl }: SendOptions & { readonly path: string },
): Promise<boolean> {
  const recipe = await readRecipe(path)
  if (recipe === undefined) return false
  ctx.status = 200
  ctx.set({ 'Cache-Control': cacheControl, 'Content-Type': type })
  ctx.etag = recipe.sha256
  if (ctx.fresh) {
    ctx.status = 304
    return true
  }
  ctx.respond = false // Koa leaves an answer open whose stream failed
  ctx.res.statusCode = 200
  ctx.set('Content-Length', String(recipe.size))
  if (ctx.method === 'HEAD') ctx.res.end()
  else
    await pipeline(Readable.from(readJoined(layout, recipe)), ctx.res).catch((error: Error) => {
      ctx.app.emit('error', error, ctx)
    })
  return true
}
