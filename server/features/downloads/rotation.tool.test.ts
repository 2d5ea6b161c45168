import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { connect, createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { lacking, mustRun } from '../../../test/support/tools.ts'
import { rotatedSeries } from '../../record/log-series.ts'
import { assign, type LogState } from './assign.ts'
import { blocksOf, HEAD_BYTES, headDigest, lookAt } from './log-file.ts'
import { createTally } from './tally.ts'

const missing = lacking('nginx-light', 'logrotate')

let folder: string
let nginx: ChildProcess | undefined
let port: number
const log = (): string => join(folder, 'logs', 'access.log')

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port: free } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return free
}

beforeAll(async () => {
  if (missing.length > 0) return
  folder = await mkdtemp(join(tmpdir(), 'gh-rotation-'))
  await chmod(folder, 0o755)
  for (const name of ['logs', 'repos/pool/jammy/main/h', 'temp']) await mkdir(join(folder, name), { recursive: true })
  await writeFile(join(folder, 'repos/pool/jammy/main/h/h_1_all.deb'), 'x'.repeat(5_000))
  port = await freePort()
  const temps = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
  await writeFile(
    join(folder, 'nginx.conf'),
    `worker_processes 1; daemon off; ${process.getuid?.() === 0 ? 'user root; ' : ''}pid ${folder}/pid; error_log ${folder}/logs/error.log warn;
events { worker_connections 64; }
http { log_format downloads '$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent" "$http_range" $request_id';
access_log ${log()} downloads;
${temps.map(name => `${name}_temp_path ${folder}/temp/${name};`).join(' ')}
server { listen 127.0.0.1:${port}; location /repos/ { root ${folder}; } } }`,
  )
  nginx = spawn('nginx', ['-p', folder, '-c', join(folder, 'nginx.conf')], { stdio: 'ignore' })
  await vi.waitFor(async () => (await fetch(`http://127.0.0.1:${port}/`)).status, 10_000)
})
afterAll(async () => {
  if (nginx === undefined) return
  nginx.kill('SIGTERM')
  await once(nginx, 'exit')
  await rm(folder, { recursive: true, force: true })
})

/** Asks on a connection of its own, which nginx closes after it wrote the line of its log. @returns the status */
async function get(headers: Record<string, string> = {}, method = 'GET'): Promise<number> {
  const lines = Object.entries({ host: 'localhost', connection: 'close', ...headers }).map(([k, v]) => `${k}: ${v}\r\n`)
  const socket = connect(port, '127.0.0.1')
  socket.write(`${method} /repos/pool/jammy/main/h/h_1_all.deb HTTP/1.1\r\n${lines.join('')}\r\n`)
  const answer = await text(socket)
  return Number(/^HTTP\/1\.1 (\d{3})/.exec(answer)?.[1])
}

/**
 * nginx writes on in the renamed file until its worker has opened the new one, so a line written there after it is
 * packed is lost. The script ends when the worker has the renamed file open no longer.
 */
async function reopen(): Promise<string> {
  const master = nginx?.pid
  const workers = await readFile(`/proc/${master}/task/${master}/children`, 'utf8')
  const open = workers
    .trim()
    .split(' ')
    .map(pid => `/proc/${pid}/fd/*`)
  const isBehind = `readlink ${open.join(' ')} | grep -qF ${log()}.`
  return `postrotate\n kill -USR1 ${master}\n while ${isBehind}; do sleep 0.01; done\n endscript`
}

let states: LogState[] = []
/** What a run counts, with states as the database would keep them. */
async function count(): Promise<{ downloads: number; others: string[]; unread: number }> {
  const series = await rotatedSeries(log())
  const files = (await Promise.all((series?.files ?? []).map(lookAt))).filter(file => file !== undefined)
  const tally = createTally(name => name === 'jammy')
  for (const { file, state } of assign(files, states)) {
    let position = state?.position ?? 0
    for await (const { lines, end } of blocksOf(file, position)) {
      tally.add(lines)
      position = end
    }
    if (position === 0) continue
    const head_bytes = Math.min(file.head.length, position, HEAD_BYTES)
    states = [
      ...states.filter(one => one !== state),
      { id: states.length, head: headDigest(file.head, head_bytes), head_bytes, position },
    ]
  }
  return {
    downloads: tally.files.reduce((sum, { downloads }) => sum + downloads, 0),
    others: tally.others.map(({ kind, requests }) => `${kind} ${requests}`).sort(),
    unread: tally.unread,
  }
}

async function rotate(how: string): Promise<void> {
  const conf = join(folder, 'logrotate.conf')
  await writeFile(conf, `${log()} { rotate 5\n missingok\n ${how} }\n`, { mode: 0o644 })
  await mustRun('logrotate', ['-f', '-s', join(folder, 'state'), conf])
}

test.skipIf(missing.length > 0)('the log of a real nginx is counted once through every kind of rotation', async () => {
  for (let n = 0; n < 30; n++) expect(await get()).toBe(200)
  expect(await get({ range: 'bytes=0-99' })).toBe(206)
  expect(await get({ range: 'bytes=100-' })).toBe(206)
  expect(await get({}, 'HEAD')).toBe(200)
  expect(await count()).toEqual({ downloads: 31, others: ['head 1', 'range 1', 'refused 1'], unread: 0 })

  await get()
  await rotate(await reopen())
  for (let n = 0; n < 3; n++) await get()
  expect((await count()).downloads).toBe(4)

  await get()
  await rotate('copytruncate')
  for (let n = 0; n < 40; n++) await get()
  expect((await count()).downloads).toBe(41)

  await get()
  await rotate(`compress\n ${await reopen()}`)
  await get()
  expect((await count()).downloads).toBe(2)
  expect((await readdir(join(folder, 'logs'))).some(name => name.endsWith('.gz'))).toBe(true)
  expect(await count()).toEqual({ downloads: 0, others: [], unread: 0 })
})
