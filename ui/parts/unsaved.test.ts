import { afterEach, expect, test, vi } from 'vitest'
import { createTyped, insteadOfLeaving } from './unsaved.ts'

afterEach(() => {
  vi.unstubAllGlobals()
})

interface Move {
  readonly navigationType: string
  readonly userInitiated?: boolean
  readonly sameDocument?: boolean
  readonly cancelable?: boolean
}

/** What is left of a move after somebody may have stopped it. */
function move(
  over: EventTarget,
  { navigationType, userInitiated = true, sameDocument = true, cancelable = true }: Move,
): 'goes' | 'stays' {
  const destination = { url: 'https://here/#/audit', sameDocument }
  const event = Object.assign(new Event('navigate', { cancelable }), { navigationType, userInitiated, destination })
  return over.dispatchEvent(event) ? 'goes' : 'stays'
}

test('Back stays on the screen while a dialog is open, what the browser forces does not', () => {
  const navigation = new EventTarget()
  vi.stubGlobal('navigation', navigation)
  const back = vi.fn<() => void>()
  const end = insteadOfLeaving({ back, link: () => false })
  expect([move(navigation, { navigationType: 'traverse' }), back.mock.calls.length]).toEqual(['stays', 1])
  const forced = { navigationType: 'traverse', cancelable: false }
  expect([move(navigation, { navigationType: 'push' }), move(navigation, forced)]).toEqual(['goes', 'goes'])
  end()
  expect([move(navigation, { navigationType: 'traverse' }), back.mock.calls.length]).toEqual(['goes', 1])
})

test('a link within the console waits while text would go, what a script does and other pages do not', () => {
  const navigation = new EventTarget()
  vi.stubGlobal('navigation', navigation)
  const link = vi.fn<(to: string) => boolean>(() => true)
  const end = insteadOfLeaving({ back: () => {}, link })
  const push = { navigationType: 'push' }
  expect([move(navigation, push), link.mock.calls]).toEqual(['stays', [['https://here/#/audit']]])
  expect(move(navigation, { ...push, userInitiated: false })).toBe('goes')
  expect(move(navigation, { ...push, sameDocument: false })).toBe('goes')
  link.mockReturnValue(false)
  expect(move(navigation, push)).toBe('goes')
  end()
})

test('a browser without the Navigation API goes on as ever', () => {
  vi.stubGlobal('navigation', undefined)
  expect(() => insteadOfLeaving({ back: () => {}, link: () => false })()).not.toThrow()
})

class FakeField extends EventTarget {
  isConnected = true
  readOnly = false
  type = 'text'
  value: string
  constructor(value: string) {
    super()
    this.value = value
  }
  matches = (): boolean => true
}

test('text counts as typed when it differs from what stood there, is not empty, and its field is still shown', () => {
  vi.stubGlobal('HTMLElement', FakeField)
  const field = new FakeField('begin')
  vi.stubGlobal('document', { activeElement: field })
  const typed = createTyped()
  typed.watch(Object.assign(new EventTarget(), { contains: () => true }) as unknown as HTMLElement)
  expect(typed.is()).toBe(false)
  const now = (value: string): boolean => {
    field.value = value
    return typed.is()
  }
  expect([now('begin more'), now('begin'), now('')]).toEqual([true, false, false])
  now('other')
  field.isConnected = false
  expect(typed.is()).toBe(false)
})
