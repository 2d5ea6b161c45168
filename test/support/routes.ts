import { FormatRegistry } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import type { Contract, Handlers, RawRequest, Row, WithStatus } from '../../server/core/contract.ts'
import type { Principal } from '../../server/core/access.ts'
import { isRefusal } from '../../server/core/errors.ts'
import { rawRequest, someone } from './test-catalog.ts'
import { ALL_SEEING, type Viewer } from '../../server/core/viewer.ts'

for (const format of ['date', 'date-time']) FormatRegistry.Set(format, text => !Number.isNaN(Date.parse(text)))

export interface CallInput {
  readonly params?: Record<string, string>
  readonly query?: Record<string, unknown>
  readonly body?: unknown
  readonly who?: Principal
  readonly viewer?: Viewer
  readonly raw?: Partial<RawRequest>
}

type Unwrapped<Answer> = Answer extends WithStatus<infer Body> ? Body : Answer
type Plain<Answer> = Unwrapped<Awaited<Answer>>

/**
 * Calls handlers without HTTP, as the router would after its checks, and fails where an answer does not match the
 * schema of its own row. A `WithStatus` is unwrapped; `statusOf` tells the status of the last call.
 */
export function createCaller<C extends Contract, Deps>(rows: C, handlers: Handlers<C, Deps>, deps: () => Deps) {
  let status = 200
  return {
    statusOf: () => status,
    call: async <K extends keyof C>(
      key: K,
      input: CallInput = {},
    ): Promise<Plain<ReturnType<Handlers<C, Deps>[K]>>> => {
      const handle = handlers[key] as (deps: Deps, input: unknown) => unknown
      const row: Row | undefined = rows[key as string as keyof Contract] // a generic key hides that it is a row
      const answer = await handle(deps(), {
        params: input.params ?? {},
        query: input.query ?? {},
        body: input.body ?? {},
        who: input.who ?? someone(),
        viewer: input.viewer ?? ALL_SEEING,
        raw: rawRequest(input.raw),
      })
      const wrapped =
        typeof answer === 'object' &&
        answer !== null &&
        'status' in answer &&
        'body' in answer &&
        typeof answer.status === 'number'
      status = wrapped ? (answer.status as number) : (row?.status ?? 200)
      const body = wrapped ? answer.body : answer
      if (typeof row?.reply === 'object') {
        const wrong = [...Value.Errors(row.reply, body)].map(error => `${error.path}: ${error.message}`)
        if (wrong.length > 0)
          throw new Error(`the answer of ${String(key)} does not match its schema: ${wrong.join('; ')}`)
      }
      return body as Plain<ReturnType<Handlers<C, Deps>[K]>>
    },
  }
}

/** The code of the refusal, `no refusal`, or the text of what else was thrown. */
export async function codeOf(promise: Promise<unknown>): Promise<string> {
  return promise.then(
    () => 'no refusal',
    (error: unknown) => (isRefusal(error) ? error.code : String(error)),
  )
}
