// What scripts of pages share that a token may open: it is asked for, kept as long as the page is open, and sent with each request.
const store = (() => {
  try {
    return window.sessionStorage;
  } catch {
    return { getItem: () => null, setItem: () => {} };
  }
})();
let token = store.getItem("token") || "";
class Wrong extends Error {
  constructor(status, wrong) {
    super(wrong.error + (wrong.action ? ": " + wrong.action : ""));
    this.status = status;
  }
}

async function ask(path, options = {}) {
  const headers = { ...(options.headers || {}) };
  if (token) headers.Authorization = "Bearer " + token;
  const response = await fetch(path, { ...options, headers, cache: "no-store", credentials: "omit" });
  if (response.ok) return response;
  let wrong = { error: "the manager answers " + response.status, action: "" };
  try {
    wrong = await response.json();
  } catch {
    // What is not JSON says nothing more.
  }
  if (response.status === 401) login(token ? wrong.error : "");
  throw new Wrong(response.status, wrong);
}

function login(said) {
  byId("login").hidden = false;
  byId("login-said").textContent = said;
  byId("token").focus();
}

// Does something when the reader has given a token.
function onToken(then) {
  byId("login").addEventListener("submit", (event) => {
    event.preventDefault();
    token = byId("token").value.trim();
    store.setItem("token", token);
    byId("login-said").textContent = "";
    then();
  });
}

// Hears live events, and connects again when the connection ends; a later call takes the place of an earlier one. `begins` is called when a connection
// begins, `heard` with each event, and `standing` with words for the reader and their kind.
let following = 0;
async function follow(path, { begins, heard, standing }) {
  const mine = ++following;
  let pause = 1000;
  while (mine === following) {
    try {
      // Not EventSource, which can send no token.
      const response = await ask(path);
      byId("login").hidden = true;
      pause = 1000;
      begins();
      await events(response, heard);
      standing("The manager has ended the connection; connecting again.", "gone");
    } catch (error) {
      if (error.status === 401) {
        standing("A token is needed: it is in the file that the manager was given with --web-token.", "");
        return;
      }
      standing(error instanceof Wrong ? error.message : "The manager cannot be reached; connecting again.", "gone");
    }
    await new Promise((resolve) => setTimeout(resolve, pause));
    pause = Math.min(pause * 2, 10000);
  }
}
