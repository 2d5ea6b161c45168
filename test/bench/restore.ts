import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { copyFile, mkdir, rm, stat } from 'node:fs/promises'
import { Agent } from 'node:http'
import { basename, join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { buildDeb } from '../support/packages.ts'
import { formOf, json, logIn, send, startServer, type Server } from './server.ts'

const VERIFY = join(import.meta.dirname, '..', '..', 'server', 'cli', 'verify.ts')
const INDEX = '/repos/dists/jammy/main/binary-amd64/Packages'

/** Asks for one address over and over. @returns what it was answered, and for how long it was not 200 */
function watch(server: Server, path: string, headers: Record<string, string> = {}) {
  let isOver = false
  let [asked, firstBad, lastBad, begins] = [0, 0, 0, 0]
  const answers = new Map<string, number>()
  const done = (async () => {
    while (!isOver) {
      const at = performance.now()
      const status = await fetch(new URL(path, server.url), { headers }).then(
        async answer => {
          const text = await answer.text()
          if (answer.status !== 503) return String(answer.status)
          return `503 ${(JSON.parse(text) as { detail?: string }).detail ?? ''}`
        },
        () => 'no answer',
      )
      asked++
      answers.set(status, (answers.get(status) ?? 0) + 1)
      begins = Math.max(begins, performance.now() - at)
      if (status.startsWith('503')) [firstBad, lastBad] = [firstBad || at, performance.now()]
      await setTimeout(20)
    }
  })()
  return async () => {
    isOver = true
    await done
    return { asked, answers: Object.fromEntries(answers), away: (lastBad - firstBad) / 1000, longest: begins }
  }
}

const countIn = async (server: Server): Promise<number> =>
  (await (await fetch(new URL(INDEX, server.url))).text()).split('Package: ').length - 1

/** Uploads until it is told to stop. @returns how many were published */
function uploads(server: Server, agent: Agent, token: string) {
  let isOver = false
  const done = (async () => {
    let n = 0
    for (; !isOver; n++) {
      const name = `beside-${Date.now()}-${n}`
      const { status, text } = await send(server, agent, {
        ...{ path: '/upload/', token, n, waits: true },
        ...formOf(`${name}.deb`, await buildDeb({ name, version: '1.0' })),
      })
      if (status !== 201) throw new Error(`an upload was answered with ${status} ${text.slice(0, 200)}`)
    }
    return n
  })()
  return async () => {
    isOver = true
    return done
  }
}

async function makeBackup(server: Server, agent: Agent, token: string): Promise<string> {
  const stop = uploads(server, agent, token)
  const began = performance.now()
  const { status, text } = await send(server, agent, { path: '/backup/', token, ...json({}) })
  const took = performance.now() - began
  const published = await stop()
  if (status !== 201) throw new Error(`the backup was answered with ${status} ${text}`)
  const made = JSON.parse(text) as { file_name: string; size: number; packages: number }
  console.log(
    `backup of ${made.packages} packages in ${(took / 1000).toFixed(1)} s, ${(made.size / 1e6).toFixed(0)} MB; ${published} uploads published meanwhile`,
  )
  return made.file_name
}

async function restore(server: Server, root: string, name: string, token: string): Promise<void> {
  const agent = new Agent()
  const before = await stat(join(root, '.restored.json')).catch(() => undefined)
  const [tree, api] = [
    watch(server, INDEX),
    watch(server, '/api/v1/auth/me', { 'Authorization': `Bearer ${token}`, 'X-Forwarded-For': '198.18.200.1' }),
  ]
  const began = performance.now()
  const { status, text } = await send(server, agent, { path: '/backup/restore', token, ...json({ file_name: name }) })
  if (status !== 202) throw new Error(`the restore was answered with ${status} ${text}`)
  const doneAt = async () => (await stat(join(root, '.restored.json')).catch(() => undefined))?.mtimeMs
  while ((await doneAt()) === before?.mtimeMs) await setTimeout(50)
  const swapped = performance.now()
  while ((await fetch(new URL('/api/v1/auth/me', server.url))).status === 503) await setTimeout(20)
  const back = performance.now()
  const [trees, seen] = [await tree(), await api()]
  console.log(
    `restored into the running service: ${((swapped - began) / 1000).toFixed(1)} s until all is in its place, ${((back - began) / 1000).toFixed(1)} s until it answers; the API was away for ${seen.away.toFixed(1)} s: ${JSON.stringify(seen.answers)}; the index was asked for ${trees.asked} times: ${JSON.stringify(trees.answers)}, longest ${trees.longest.toFixed(0)} ms`,
  )
}

/**
 * `npm run bench restore -- ROOT [ARCHIVE]`: backs up a stocked root while uploads go on, and restores that archive, or
 * another one, into the running service. The root is what `bench stocked-root` made, and is changed.
 */
export async function run([root, archive]: readonly string[]): Promise<boolean> {
  if (root === undefined || !existsSync(root)) {
    process.stderr.write('npm run bench restore -- <a folder that bench stocked-root made> [an archive]\n')
    return false
  }
  const server = await startServer(root)
  const agent = new Agent()
  try {
    const token = await logIn(server, agent)
    const name = archive === undefined ? await makeBackup(server, agent, token) : basename(archive)
    if (archive !== undefined) {
      await mkdir(join(root, 'backups'), { recursive: true })
      await copyFile(archive, join(root, 'backups', name))
    }
    await restore(server, root, name, token)
    const again = performance.now()
    const verified = spawnSync(process.execPath, [VERIFY], {
      env: { ...process.env, REPOS_ROOT: root, ENV: 'test' },
      encoding: 'utf8',
    })
    console.log(
      `verify beside it: ${verified.stdout.trim().split('\n').slice(-5).join('; ')}${verified.stderr} (${((performance.now() - again) / 1000).toFixed(1)} s); the index names ${await countIn(server)}`,
    )
    return verified.status === 0
  } finally {
    agent.destroy()
    await server.stop()
    if (archive !== undefined) await rm(join(root, 'backups', basename(archive)), { force: true })
  }
}
