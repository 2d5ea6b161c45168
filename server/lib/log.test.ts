import { expect, test } from 'vitest'
import { createLog, mask } from './log.ts'

test('a line is JSON with its time, and has no secret at any depth', () => {
  const lines: string[] = []
  const log = createLog('info', {
    write: line => {
      lines.push(line)
    },
  })
  const cause = new Error('connect postgres://app:hunter2@db/x')
  const err = Object.assign(new Error('sent svc_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA', { cause }), {
    config: { headers: { authorization: 'Bearer hunter2' } },
  })
  log.error(
    {
      err,
      request_id: 'r1',
      headers: { 'authorization': 'Basic hunter2', 'cookie': 'hunter2', 'x-setup-token': 'hunter2' },
      body: {
        password: 'hun"ter2',
        a: { new_password: 'hunter2', b: { c: { smtp_password: 'hunter2', access_token: 'hunter2' } } },
      },
    },
    'token eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhIn0.hunter2 and hash $2b$12$abcdefghijklmnopqrstuuhunter2hunter2hunter2hunter2hunter',
  )
  expect(lines).toHaveLength(1)
  const line = JSON.parse(lines[0] ?? '') as Record<string, unknown>
  expect(line).toMatchObject({
    request_id: 'r1',
    body: { password: '***', a: { new_password: '***' } },
    headers: { authorization: '***' },
  })
  expect(lines[0]).not.toMatch(/hunter2|ter2|AAAA/)
  expect(lines[0]).toContain('sent svc_***')
})

test('a member of JSON that a message quotes is masked, also where the message was cut off', () => {
  const lines: string[] = []
  const log = createLog('info', {
    write: line => {
      lines.push(line)
    },
  })
  const answer = JSON.stringify({
    user: 'ada',
    access_token: 'hunter2',
    nested: JSON.stringify({ password: 'hunter2' }),
  })
  log.warn(
    { why: `it answered ${answer}`, cut: `it answered ${JSON.stringify({ client_secret: 'hunter2' }).slice(0, -2)}` },
    'refused',
  )
  const [line = ''] = lines
  expect(JSON.parse(line)).toMatchObject({
    why: 'it answered {"user":"ada","access_token":"***","nested":"{\\"password\\":\\"***\\"}"}',
    cut: 'it answered {"client_secret":"***"',
  })
  expect(line).not.toContain('hunter2')
})

// each takes minutes where every letter is a new beginning, and milliseconds where none is
test.each(['/"' + 'token'.repeat(400_000), '/' + 'eyJ-'.repeat(400_000), '"password\\":\\"'.repeat(100_000)])(
  'a path made to be slow is masked at once: %.20s',
  path => {
    expect(mask(JSON.stringify({ path, status: 404 }))).toContain('"status":404}')
  },
)

test.each([
  ['{"path":"/api/v1/auth/api-tokens/1","status":200}'],
  ['{"msg":"published","codename":"jammy","ms":12}'],
  ['{"msg":"see https://host.example/a@b"}'],
  ['{"token_type":7}'],
])('%s stays as it is', line => {
  expect(mask(line)).toBe(line)
})
