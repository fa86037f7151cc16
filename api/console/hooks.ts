import { useEffect, useRef, useState } from 'preact/hooks';
import { ApiProblem } from '../client/problem.ts';
import { createStore } from './store.ts';

export function useTitle(title: string): void {
  useEffect(() => {
    document.title = `${title} · headrace`;
  }, [title]);
}

/** The current time, for ages and estimates; updated every `everyMs`. */
export function useNow(everyMs: number): number {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    setNow(Date.now());
    const timer = setInterval(() => setNow(Date.now()), everyMs);
    return () => clearInterval(timer);
  }, [everyMs]);
  return now;
}

/** Runs a change of the user, and keeps the problem if the API refuses it. */
export function useAction() {
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState<ApiProblem>();
  async function run(action: () => Promise<unknown>): Promise<void> {
    setBusy(true);
    setProblem(undefined);
    try {
      await action();
    } catch (error) {
      if (!(error instanceof ApiProblem)) throw error;
      setProblem(error);
    }
    setBusy(false);
  }
  return { isBusy, problem, run, dismiss: () => setProblem(undefined) };
}

/** The next text for screen readers. */
export const announcement = createStore('');

/** Announces a text when it changes, not when the page opens with it. */
export function useAnnounce(text: string | undefined): void {
  const before = useRef(text);
  useEffect(() => {
    if (text !== undefined && before.current !== undefined && before.current !== text) announcement.set(text);
    before.current = text;
  }, [text]);
}

/** True while the page is laid out for paper. */
export function usePrinting(): boolean {
  const [isPrinting, setPrinting] = useState(() => matchMedia('print').matches);
  useEffect(() => {
    const print = matchMedia('print');
    const update = () => setPrinting(print.matches);
    const begin = () => setPrinting(true);
    const end = () => setPrinting(false);
    print.addEventListener('change', update);
    window.addEventListener('beforeprint', begin);
    window.addEventListener('afterprint', end);
    return () => {
      print.removeEventListener('change', update);
      window.removeEventListener('beforeprint', begin);
      window.removeEventListener('afterprint', end);
    };
  }, []);
  return isPrinting;
}

/** The value once it has not changed for a while. */
export function useSettled<T>(value: T, ms: number): T {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(() => value), ms);
    return () => clearTimeout(timer);
  }, [value, ms]);
  return settled;
}
