import { readdir } from 'node:fs/promises'
import { Value } from '@sinclair/typebox/value'
import { describe, expect, test } from 'vitest'
import { hasClamd } from '../../../test/support/clamd.ts'
import { EICAR } from '../../../test/support/packages.ts'
import { formOf, hello, openUploads } from '../../../test/support/uploads.ts'
import type { StreamEvent } from '../../core/contract.ts'
import { uploadHandlers } from './handlers.ts'
import { UploadResultSchema } from './result.ts'
import { ALL_SEEING } from '../../core/viewer.ts'

const it = openUploads()

describe('the stream', () => {
  const names = (events: Record<string, unknown>[]): string[] =>
    events.map(event =>
      event['step'] === undefined
        ? `= ${String(event['status'])}`
        : `${String(event['name'])} ${String(event['status'])}`,
    )

  test('sends each step as it runs and ends with the answer of the other route', async () => {
    const events = await it.stream(formOf(await hello('1', { fields: { Depends: 'x' } })))
    expect(names(events)).toEqual([
      'format running',
      'format done',
      'provenance running',
      'provenance done',
      'antivirus running',
      'antivirus done',
      'cve running',
      'cve done',
      'gpg running',
      'gpg done',
      'dependencies running',
      'dependencies warn',
      'publish running',
      'publish done',
      '= published',
    ])
    expect(events.every(event => event['step'] === undefined || typeof event['message'] === 'string')).toBe(true)
    expect(Value.Check(UploadResultSchema, events.at(-1)?.['result'])).toBe(true)
    expect(it.given.counted).toEqual(['published'])
  })

  test.skipIf(!hasClamd)('stops at malware', async () => {
    expect(names(await it.stream(formOf(await hello('1', { files: { a: EICAR } })))).slice(-4)).toEqual([
      'antivirus error',
      'publish running',
      'publish done',
      '= quarantined',
    ])
  })

  test('reports a known package at once', async () => {
    await it.send(formOf(await hello()))
    expect(names(await it.stream(formOf(await hello()))).slice(-3)).toEqual([
      'antivirus running',
      'antivirus done',
      '= already_imported',
    ])
  })

  test('answers early refusals as a problem, and later ones as an event', async () => {
    expect(await it.stream(formOf(await hello(), { distribution: 'sid' }))).toMatchObject([
      { code: 'unknown_distribution' },
    ])
    await it.send(formOf(await hello()))
    expect((await it.stream(formOf(await hello('1.0', { files: { b: 'c' } })))).at(-1)).toEqual({
      code: 'duplicate_conflict',
    })
  })

  test('whose client never reads leaves nothing behind', async () => {
    const left = new AbortController()
    const form = new Request(`${it.base}/`, { method: 'POST', body: formOf(await hello()) })
    const { Readable } = await import('node:stream')
    const body = Object.assign(Readable.fromWeb(form.body as never), { complete: true })
    const raw = {
      stream: body as never,
      headers: { 'content-type': form.headers.get('content-type') ?? '' },
      clientIp: '',
      requestId: '',
      signal: left.signal,
    }
    const events = await uploadHandlers['POST /upload/stream'](it.deps, {
      params: {},
      query: undefined,
      body: undefined,
      who: { kind: 'user', name: 'u', role: 'admin', credential: '' },
      viewer: ALL_SEEING,
      raw,
    })
    const kept: AsyncIterable<StreamEvent> = events
    expect(await readdir(it.layout.incoming)).toHaveLength(1)
    left.abort()
    await expect.poll(() => readdir(it.layout.incoming)).toEqual([])
    expect(kept).toBe(events)
  })

  test('whose client disconnects after any event leaves nothing behind, or a whole package', async () => {
    for (let events = 1; events <= 15; events++) {
      const version = `2.${events}`
      const response = await fetch(`${it.base}/upload/stream`, { method: 'POST', body: formOf(await hello(version)) })
      const reader = response.body?.getReader()
      for (let seen = 0; seen < events;) {
        const { value, done } = await reader!.read()
        if (done) break
        seen += Buffer.from(value).toString().split('\n\n').length - 1
      }
      await reader!.cancel()
      await Promise.all(it.given.answering)
      expect(await readdir(it.layout.incoming)).toEqual([])
    }
    for (const { state } of await it.rows()) expect(state).toBe('published')
  })
})
