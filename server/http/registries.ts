import type { Context, Middleware } from 'koa'
import type { Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import type { AppAddress } from '../core/app-address.ts'
import { AppError, fail } from '../core/errors.ts'
import type { Distribution, Repositories } from '../core/repository.ts'
import type { Layout } from '../files/layout.ts'
import type { Log } from '../lib/log.ts'
import { printStep, type Starting } from '../record/starting.ts'
import type { Groups } from '../registries/group/groups.ts'
import type { RegistryAnswer, RegistryProtocol, RegistryRequest, RootRequest } from '../registries/protocol.ts'
import { readAway } from './body.ts'
import { problemOf } from './problem.ts'
import { belowRoot, type BelowRoot } from './registry-address.ts'
import { sendAnswer } from './registry-answer.ts'
import { callerOf, countWrite, identify, mayRead, needReader, type CallerDeps } from './registry-caller.ts'

export interface RegistryMountDeps extends CallerDeps {
  readonly protocols: readonly RegistryProtocol[]
  readonly groups: Groups
  readonly repositories: Pick<Repositories, 'find'>
  readonly address: Pick<AppAddress, 'called' | 'console'>
  readonly layout: Pick<Layout, 'blob'>
  readonly starting: Pick<Starting, 'now'>
  readonly log: Pick<Log, 'error'>
}

const isRead = ({ method }: Pick<Context, 'method'>): boolean => method === 'GET' || method === 'HEAD'

/** Aborts when the client goes before its answer is whole. */
function goneSignal({ res }: Context): AbortSignal {
  const gone = new AbortController()
  res.once('close', () => {
    if (!res.writableFinished) gone.abort(new Error('the client went away'))
  })
  return gone.signal
}

/** The bytes of the body, unpacked. @throws registry_encoding */
function bodyOf({ req }: Context): Readable {
  const encoding = (req.headers['content-encoding'] ?? 'identity').trim().toLowerCase()
  if (encoding === 'identity' || encoding === '') return req
  if (encoding !== 'gzip' && encoding !== 'x-gzip') fail('registry_encoding', { encoding: encoding.slice(0, 40) })
  const unpacked = createGunzip()
  // whoever reads it meets the fault; one that comes before must not end the process
  unpacked.on('error', () => undefined)
  req.once('error', error => unpacked.destroy(error))
  return req.pipe(unpacked)
}

/** Finds the registry of an address; one of another format is not there. @throws registry_not_found */
function findRegistry(
  { repositories }: Pick<RegistryMountDeps, 'repositories'>,
  protocol: RegistryProtocol,
  [name = '']: readonly string[],
): Distribution {
  const found = repositories.find(name)
  if (found?.kind === 'registry' && found.format === protocol.format) return found
  return fail('registry_not_found', { name: name.slice(0, 80) })
}

/** What has no answer in a protocol. */
const notHere = (ctx: Context): never => fail('not_found', { path: ctx.path.slice(0, 200) })

/** One request, at a protocol that was found by the root of its address. */
interface Asked {
  readonly ctx: Context
  readonly protocol: RegistryProtocol
  readonly below: BelowRoot
}

function requestOf({ ctx, below }: Asked, deps: RegistryMountDeps): Omit<RootRequest, 'caller' | 'address' | 'body'> {
  const { segments, endsWithSlash } = below
  return {
    method: ctx.method,
    segments,
    endsWithSlash,
    query: new URLSearchParams(ctx.querystring),
    headers: ctx.req.headers,
    console: deps.address.console({ stream: ctx.req }),
    requestId: String(ctx.state.requestId),
    signal: goneSignal(ctx),
  }
}

/** @throws what the protocol throws, and what callers are refused with */
async function answerOf(asked: Asked, deps: RegistryMountDeps): Promise<RegistryAnswer> {
  const { ctx, protocol, below } = asked
  const step = deps.starting.now()
  if (step?.maintenance === true) fail('maintenance', { doing: step.doing })
  if (step !== undefined) fail('starting', { doing: printStep(step) })
  const who = await identify(ctx, protocol, deps)
  const hidden = await deps.hiddenFrom(who)
  const ip = String(ctx.state.clientIp)
  const root = `${deps.address.called({ stream: ctx.req })}/${protocol.root}`
  const plain = requestOf(asked, deps)
  let made: Readable | undefined
  // once: what the first of two that unpack it does not read would hold the other up
  const body = (): Readable => (made ??= bodyOf(ctx))
  if (!isRead(ctx)) await countWrite(ctx, who, deps)
  const atRoot = await protocol.atRoot?.({
    ...plain,
    caller: callerOf({ who, ip, hidden }, undefined),
    address: root,
    body: body(),
  })
  if (atRoot !== undefined) return atRoot
  if (below.segments.length === 0) return notHere(ctx)
  const registry = findRegistry(deps, protocol, below.segments)
  const access = { hidden, closed: await deps.privateTrees() }
  needReader(who, registry, access)
  const request: RegistryRequest = {
    ...plain,
    segments: below.segments.slice(1),
    registry,
    asked: registry,
    caller: callerOf({ who, ip, hidden }, registry),
    address: `${root}/${registry.codename}`,
    body: body(),
  }
  const asMember = (member: Distribution): RegistryRequest | undefined =>
    mayRead(who, member, access)
      ? { ...request, registry: member, caller: callerOf({ who, ip, hidden }, member) }
      : undefined
  const found =
    registry.registry?.kind === 'group'
      ? await deps.groups.answer(protocol, request, asMember)
      : await protocol.answer(request)
  const answer = found ?? notHere(ctx)
  // it reads the lists that publishing asks for, and no package
  const isFile = answer.body?.kind === 'blob' || answer.body?.kind === 'file'
  if (who?.scope?.uploadOnly === true && ctx.method === 'GET' && isFile)
    fail('outside_scope', { limits: `uploads to ${who.scope.distributions?.join(', ') ?? 'any distribution'}` })
  return answer
}

/** The registry that an address names, for what asks for a credential; the name alone where there is none. */
function challengeOf({ ctx, protocol, below }: Asked, deps: RegistryMountDeps): string {
  const [name = ''] = below.segments
  const address = `${deps.address.called({ stream: ctx.req })}/${protocol.root}`
  const registry = deps.repositories.find(name)
  return protocol.challenge({
    address: registry === undefined ? address : `${address}/${name}`,
    segments: registry === undefined ? below.segments : below.segments.slice(1),
    method: ctx.method,
    ...(registry === undefined ? {} : { registry }),
  })
}

/** A client is to ask again, and nothing is wrong. */
const EXPECTED: ReadonlySet<string> = new Set(['starting', 'maintenance', 'remote_not_here_yet'])

/** An error in the words of the protocol; an internal fault is logged once, with its cause. */
function refusalOf(error: unknown, asked: Asked, deps: RegistryMountDeps): RegistryAnswer {
  const { ctx, protocol } = asked
  const { status, code, detail, facts } = problemOf(error)
  if (status >= 500 && !EXPECTED.has(code))
    deps.log.error(
      { err: error, request_id: String(ctx.state.requestId), method: ctx.method, path: ctx.path },
      'request failed',
    )
  const answer = protocol.refuse({
    status,
    code,
    detail: error instanceof AppError ? error.message : typeof detail === 'string' ? detail : String(detail),
  })
  const retry = facts?.retry_after ?? (status === 503 ? 5 : undefined)
  return {
    ...answer,
    headers: {
      'Cache-Control': 'no-store',
      ...(retry === undefined ? {} : { 'Retry-After': String(retry) }),
      ...(status === 401 ? { 'WWW-Authenticate': challengeOf(asked, deps) } : {}),
      ...answer.headers,
    },
  }
}

/** Registries by the addresses of their clients: `/npm/<registry>/…`. What is not below a protocol's root goes on. */
export function createRegistries(deps: RegistryMountDeps): Middleware {
  const byRoot = new Map(deps.protocols.map(protocol => [protocol.root, protocol]))
  return async (ctx, next) => {
    const [, root = '', rest = ''] = /^\/([^/]+)(?:\/(.*))?$/s.exec(ctx.path) ?? []
    const protocol = byRoot.get(root)
    if (protocol === undefined) return next()
    ctx.state.route = `/${root}/`
    ctx.state.isTree = isRead(ctx)
    let asked: Asked = { ctx, protocol, below: { segments: [], endsWithSlash: false } }
    let answer: RegistryAnswer
    try {
      asked = { ...asked, below: belowRoot(rest, ctx.path) }
      answer = await answerOf(asked, deps)
    } catch (error) {
      if (ctx.res.destroyed || ctx.req.socket.destroyed) return // the client left: nobody to answer
      answer = refusalOf(error, asked, deps)
      // some look at an answer only when they have sent everything
      if (!isRead(ctx)) {
        ctx.req.unpipe() // nobody reads what is unpacked, and a full gunzip would stop the rest
        await readAway(ctx.req)
      }
    }
    await sendAnswer(ctx, answer, deps)
  }
}
