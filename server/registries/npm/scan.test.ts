import { randomBytes } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { scanDocument, type Wanted } from './scan.ts'

async function* inPieces(text: string | Buffer, size: number): AsyncGenerator<Buffer> {
  const bytes = Buffer.from(text as string)
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

const wants = (path: readonly string[]): Wanted =>
  path[0] === '_attachments' && path[2] === 'data'
    ? 'bytes'
    : path.join('.') === 'name' || (path[0] === 'versions' && path.length === 2)
      ? 'value'
      : 'nothing'

async function scan(text: string, size = 7): Promise<unknown[]> {
  const found: unknown[] = []
  for await (const part of scanDocument(inPieces(text, size), wants)) {
    if (part.kind === 'value') found.push([...part.path, part.json])
    else {
      const pieces: Buffer[] = []
      for await (const piece of part.bytes) pieces.push(piece)
      found.push([...part.path, Buffer.concat(pieces).toString('latin1')])
    }
  }
  return found
}
const why = (text: string): Promise<unknown> =>
  scan(text).then(
    found => found,
    (error: unknown) => (error as { why?: string }).why ?? error,
  )

const document = (data: string): string =>
  ` { "name" : "a", "x": [1, {"y": "}\\"]"}], "versions": {"1.0.0": {"n": -1.5e3 , "t" : true}},
    "_attachments": {"a.tgz": {"content_type": "x", "data": "${data}", "length": 3}}, "last": null } \n`

describe('a document of publishing is read as it comes', () => {
  test('what is asked for, however it is cut', async () => {
    const bytes = randomBytes(1_000)
    const text = document(bytes.toString('base64'))
    for (const size of [1, 2, 3, 5, 64, 100_000])
      expect(await scan(text, size)).toEqual([
        ['name', 'a'],
        ['versions', '1.0.0', { n: -1500, t: true }],
        ['_attachments', 'a.tgz', 'data', bytes.toString('latin1')],
      ])
  })
  test('escaped slashes in base64, and escaped letters in names', async () => {
    const text = '{"\\u005fattachments":{"a":{"d\\u0061ta":"\\/\\/\\/\\/"}}}'
    for (const size of [1, 2, 3, 50])
      expect(await scan(text, size)).toEqual([['_attachments', 'a', 'data', '\xff\xff\xff']])
  })
  test('nothing of it', async () => {
    expect(await scan('{}')).toEqual([])
    expect(await scan('{"a":{},"b":[],"c":""}')).toEqual([])
  })
  test.each([
    ['', 'the document is cut off'],
    ['[]', 'the document is no JSON object'],
    ['"x"', 'the document is no JSON object'],
    ['{', 'the document is cut off'],
    ['{"name"', 'the document is cut off'],
    ['{"name":"a"', 'the document is cut off'],
    ['{"name":"a', 'the document is cut off'],
    ['{"name":"a"} x', 'the document goes on behind its end'],
    ['{"name":"a"}{"name":"b"}', 'the document goes on behind its end'],
    ['{"name":"a","name":"b"}', 'the document has "name" twice in one object'],
    ['{"versions":{},"version\\u0073":{}}', 'the document has "versions" twice in one object'],
    ['{"name" "a"}', 'the document is no JSON: a colon was expected'],
    ['{"x":1 "y":2}', 'the document is no JSON: a comma was expected'],
    ['{name:1}', 'the document is no JSON: a name was expected'],
    ['{"name":tru}', 'it is not JSON'],
    ['{"name":1 2}', 'the document is no JSON: a comma was expected'],
    [`{"x":${'['.repeat(300)}${']'.repeat(300)}}`, 'the document is nested more than 200 deep'],
    [`{"name":${'['.repeat(300)}${']'.repeat(300)}}`, 'the document is nested more than 200 deep'],
    [`{"${'x'.repeat(2000)}":1}`, 'a name in the document is larger than 1 KiB'],
    [`{"name":"${'x'.repeat(5 * 2 ** 20)}"}`, 'name is larger than 4 MiB'],
    ['{"_attachments":{"a":{"data":1}}}', 'the data of an attachment is no text'],
    ['{"_attachments":{"a":{"data":"AAA"}}}', 'the data of an attachment is not base64: it is cut off'],
    ['{"_attachments":{"a":{"data":"AA==AAAA"}}}', 'the data of an attachment is not base64'],
    ['{"_attachments":{"a":{"data":"A_-A"}}}', 'the data of an attachment is not base64'],
    ['{"_attachments":{"a":{"data":"AA\\nA"}}}', 'the data of an attachment is not base64'],
    [
      `{${Array.from({ length: 20_001 }, (_, n) => `"${n}":0`).join()}}`,
      'the document has more than 20000 members in one object',
    ],
  ])('%.60s is refused', async (text, said) => {
    expect(await why(text)).toBe(said)
  })
})
