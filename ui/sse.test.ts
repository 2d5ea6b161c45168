import { describe, expect, test } from 'vitest'
import { createEventReader, readEvents } from './sse.ts'

const STREAM =
  'event: hello\ndata: {"at":1}\n\n: heartbeat\n\nid: a-1\nevent: package.state\ndata: {"x":\ndata: 2}\r\n\r\ndata:no space\n\nid: a-2\n\n'
const EVENTS = [
  { id: '', event: 'hello', data: '{"at":1}' },
  { id: 'a-1', event: 'package.state', data: '{"x":\n2}' },
  { id: 'a-1', event: 'message', data: 'no space' },
]

describe('the event reader', () => {
  test('reads a stream in one piece', () => {
    expect(createEventReader()(STREAM)).toEqual(EVENTS)
  })

  test('reads the same events however the stream is cut', () => {
    for (let size = 1; size < 20; size++) {
      const read = createEventReader()
      const pieces = STREAM.match(new RegExp(`[^]{1,${size}}`, 'g')) ?? []
      expect(
        pieces.flatMap(piece => read(piece)),
        `pieces of ${size}`,
      ).toEqual(EVENTS)
    }
  })

  test('keeps an event that is not finished to itself', () => {
    const read = createEventReader()
    expect(read('data: half')).toEqual([])
    expect(read('\n')).toEqual([])
    expect(read('\n')).toEqual([{ id: '', event: 'message', data: 'half' }])
  })
})

test('a body is read to its end, letters of several bytes included', async () => {
  const bytes = new TextEncoder().encode('data: Zürich\n\ndata: ✓\n\n')
  const body = new ReadableStream<Uint8Array>({
    start: controller => {
      for (const byte of bytes) controller.enqueue(new Uint8Array([byte]))
      controller.close()
    },
  })
  const seen: string[] = []
  for await (const { data } of readEvents(body)) seen.push(data)
  expect(seen).toEqual(['Zürich', '✓'])
})
